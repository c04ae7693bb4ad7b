"""Answers that are cut off: because their client has left, or lost its access."""

import asyncio
from collections.abc import Awaitable, Callable

UNWATCHED = 0.05  # seconds; most answers are complete before a watch would be worth its cost


async def run_until(happened: Callable[[], Awaitable[None]], work: Awaitable[None]) -> bool:
    """Runs the work until it is done, or until `happened` returns. Returns whether it was cut off. Raises what either raises."""
    watch = _Watch(happened)
    later = watch.loop.call_later(UNWATCHED, watch.start)
    try:
        await work
    except asyncio.CancelledError:
        if not watch.took_the_cancellation():
            raise
        watch.raise_fault()
        return True
    finally:
        later.cancel()
        await watch.stop()
    return False


class _Watch:
    """Waits beside the task that made it, and cancels that task when what it waits for happened. The work is done without a task of its
    own: most of it ends before the watch starts, and a group of tasks would cost each request as much as its authentication."""

    __slots__ = ("_cancellations", "_fault", "_happened", "_has_cancelled", "_task", "_work", "loop")

    def __init__(self, happened: Callable[[], Awaitable[None]]) -> None:
        self.loop = asyncio.get_running_loop()
        work = asyncio.current_task(self.loop)
        assert work is not None
        self._work, self._cancellations = work, work.cancelling()
        self._happened = happened
        self._has_cancelled = False
        self._fault: Exception | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self.loop.create_task(self._wait())

    async def _wait(self) -> None:
        try:
            await self._happened()
        except Exception as error:  # noqa: BLE001  # it ends the work, and is raised there
            self._fault = error
        self._has_cancelled = True
        self._work.cancel()

    def took_the_cancellation(self) -> bool:
        """Whether the work was cancelled by this watch and by nobody else."""
        return self._has_cancelled and self._work.uncancel() <= self._cancellations

    def raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    async def stop(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
