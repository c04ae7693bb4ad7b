"""Blocking work that must not be left half-way: it runs in a thread, and whoever is cancelled meanwhile waits for its end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


async def run_uncancellable(work: Callable[[], T], executor: Executor | None = None) -> T:
    """Runs a change in a thread (the loop's own, unless told).

    A cancellation is passed on, but only once the change is over: the lease outlives the writing.
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
            future.exception()  # seen; the cancellation is what the caller hears
        raise
