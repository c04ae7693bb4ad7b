"""Runs blocking work that must not stop half-way: in a thread; a cancelled caller waits for its end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


async def run_uncancellable(work: Callable[[], T], executor: Executor | None = None) -> T:
    """Runs a change in a thread (of the loop's default executor, unless given).

    A cancellation is delivered only when the change is over, so the lease outlives the writing.
    """
    future = asyncio.get_running_loop().run_in_executor(executor, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        if not future.cancelled():
            future.exception()  # retrieved; the caller gets the cancellation
        raise
