"""A server on a terminal counts a blocked event loop without printing a stack; elsewhere its log has it as a warning."""

import asyncio
import io
import logging
import sys
import threading
from pathlib import Path

import pytest

from anycowork.server.stall_watchdog import STALL_SECONDS
from support.live_server import TIMEOUT, live_server


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "level"), [(Terminal(), logging.DEBUG), (io.StringIO(), logging.WARNING)])
async def test_a_stall_is_logged_but_a_terminal_does_not_show_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    stream: io.StringIO,
    level: int,
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    name = "anycowork.server.stall_watchdog"
    with caplog.at_level(logging.DEBUG, logger=name):
        async with live_server(tmp_path, replies=[]), asyncio.timeout(TIMEOUT):
            while not (
                stalls := [record for record in caplog.records if "loop was blocked for" in record.getMessage()]
            ):
                threading.Event().wait(4 * STALL_SECONDS)
                await asyncio.sleep(0)
    assert {record.levelno for record in stalls} == {level}
