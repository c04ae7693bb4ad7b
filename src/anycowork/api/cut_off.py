"""Answers that are cut off: because their client has left, or lost its access."""

import asyncio
from collections.abc import Awaitable, Callable

from anycowork.domain.errors import AnyCoworkError

UNWATCHED = 0.05  # seconds; most answers are complete before a watch would be worth its cost


class _CutOff(Exception):
    pass


async def run_until(happened: Callable[[], Awaitable[None]], work: Awaitable[None]) -> bool:
    """Run the work until it is done, or until `happened` returns. Return whether it was cut off. Raises what the work raises."""
    fault: AnyCoworkError | None = None
    is_cut_off = False
    watches: list[asyncio.Task[None]] = []
    try:
        async with asyncio.TaskGroup() as tasks:
            later = asyncio.get_running_loop().call_later(
                UNWATCHED, lambda: watches.append(tasks.create_task(_watch(happened)))
            )
            try:
                await work
            except AnyCoworkError as error:
                fault = error  # raised below: in here the group would wrap it
            finally:
                later.cancel()
            for watch in watches:
                watch.cancel()
    except* _CutOff:
        is_cut_off = True
    if fault is not None:
        raise fault
    return is_cut_off


async def _watch(happened: Callable[[], Awaitable[None]]) -> None:
    await happened()
    raise _CutOff
