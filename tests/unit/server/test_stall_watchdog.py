"""A loop that stands still is counted, and named with the lines that it stands in."""

import asyncio
import io
import logging
import threading

import pytest

from anycowork.server.stall_watchdog import STALL_SECONDS, StallWatch, stall_log_level
from support.live_server import TIMEOUT


async def test_a_loop_that_stands_still_is_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    watch = StallWatch()
    with (
        caplog.at_level(logging.WARNING, logger="anycowork.server.stall_watchdog"),
        watch.watching(asyncio.get_running_loop()),
    ):
        async with asyncio.timeout(TIMEOUT):
            while "_stand_still" not in caplog.text:  # the first stall may be another one, on a loaded machine
                _stand_still()
                await asyncio.sleep(0)
    assert watch.stalls >= 1
    assert watch.longest >= STALL_SECONDS
    said = [record.getMessage() for record in caplog.records]
    assert said and not any("\n" in message for message in said), "a warning is one line"


async def test_who_debugs_is_told_the_whole_stack(caplog: pytest.LogCaptureFixture) -> None:
    watch, name = StallWatch(), "anycowork.server.stall_watchdog"
    with caplog.at_level(logging.DEBUG, logger=name), watch.watching(asyncio.get_running_loop()):
        async with asyncio.timeout(TIMEOUT):
            while not (stacks := [record for record in caplog.records if record.levelno == logging.DEBUG]):
                _stand_still()
                await asyncio.sleep(0)
    assert stacks[0].getMessage().count("\n") > 3


async def test_a_loop_that_waits_is_none_that_stands_still() -> None:
    watch, over = StallWatch(), asyncio.Event()
    with watch.watching(loop := asyncio.get_running_loop()):
        loop.call_later(3 * STALL_SECONDS, over.set)
        await over.wait()
    assert watch.longest < TIMEOUT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("log_format", "stream", "expected"),
    [
        ("text", Terminal(), logging.DEBUG),
        ("text", io.StringIO(), logging.WARNING),
        ("text", None, logging.WARNING),
        ("json", Terminal(), logging.WARNING),
        ("json", io.StringIO(), logging.WARNING),
    ],
)
def test_a_terminal_shows_stalls_only_to_who_debugs_and_a_file_has_them(
    log_format: str, stream: io.StringIO | None, expected: int
) -> None:
    assert stall_log_level(log_format, stream) == expected


def _stand_still() -> None:
    threading.Event().wait(4 * STALL_SECONDS)
