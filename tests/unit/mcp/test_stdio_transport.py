"""A server's program is let go of whole, however early its session is given up: no file stays open that a collector would find."""

import asyncio
import gc
import warnings
from contextlib import suppress

import pytest

from anycowork.mcp.stdio_transport import message_streams
from anycowork.sandbox.stdio_program import LineLog, open_pipes, started_process

MOST_STEPS = 12
pytestmark = pytest.mark.usefixtures("only_own_garbage")


async def test_a_session_given_up_at_any_step_leaves_no_pipe_open() -> None:
    opened = asyncio.Event()

    async def use_program() -> None:
        with started_process(["/bin/cat"], env={}, fds=()) as process:
            async with open_pipes(process, LineLog()) as pipes:
                pipes.writer.write(b"x" * 1_000_000)  # more than the pipe takes: some is still to be written at the end
                opened.set()
                await asyncio.Event().wait()

    for steps in range(MOST_STEPS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            task = asyncio.ensure_future(use_program())
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            del task
            await asyncio.sleep(0)  # a transport closes its file in the next round of the loop
            gc.collect()
        assert not caught, (steps, [str(one.message) for one in caught])
    assert opened.is_set(), "it was never given up late enough"


async def test_the_pipes_of_a_program_that_died_are_closed_without_an_error() -> None:
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    for written in (b"", b"x" * 1_000_000):
        with started_process(["/bin/cat"], env={}, fds=()) as process:
            async with asyncio.timeout(60), open_pipes(process, LineLog()) as pipes:
                pipes.writer.write(written)
                process.kill()
                while await pipes.output.read(65_536):
                    pass
                with suppress(ConnectionError):
                    pipes.writer.write(b"more")
                    await pipes.writer.drain()
                await asyncio.sleep(0)  # the loss of the pipe is known now
    await asyncio.sleep(0)
    assert faults == []


async def test_a_session_cancelled_again_while_it_ends_drops_no_task() -> None:
    """A stop of the server, a limit and a lost peer may each cancel it. A task that is dropped is destroyed by the collector."""
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    faults: list[str] = []
    loop.set_exception_handler(lambda _, fault: faults.append(str(fault["message"])))
    opened = 0

    async def use_program() -> None:
        nonlocal opened
        with started_process(["/bin/sleep", "600"], env={}, fds=()) as process:  # it does not end when its input does
            async with message_streams(process, b"", LineLog(), lambda *_: None, lambda: True):
                opened += 1
                await asyncio.Event().wait()

    for rounds in range(MOST_STEPS):
        task = asyncio.ensure_future(use_program())
        while opened <= rounds:
            await asyncio.sleep(0)
        for _ in range(3):
            task.cancel()
            for _ in range(rounds):
                await asyncio.sleep(0)
        with suppress(asyncio.CancelledError):
            await task
        del task
        await asyncio.sleep(0)
        gc.collect()
        assert faults == [], rounds
