"""Threads for blocking work: those that read files, and one for work that must not stop half-way.

A queue and a future pass work on at less than half the cost of an executor, which is more than most file reads cost. `landlock_threads.py`
decides what these threads may do. Work that is not cancelled with its caller is waited for.
"""

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
X = TypeVar("X")


class ReaderThreads:
    """Starts this many threads in the calling thread. Each runs `first` before any work; they end with this object."""

    def __init__(self, threads: int, first: Callable[[], None] | None) -> None:
        self._jobs: SimpleQueue[_ReadJob[object] | None] = SimpleQueue()
        for number in range(threads):
            name = f"anycowork-reading_{number}"
            threading.Thread(target=_serve, args=(self._jobs, first), name=name, daemon=True).start()
        weakref.finalize(self, _end, self._jobs, threads)

    async def run(self, work: Callable[[], T]) -> T:
        """Raises: what `work` raises; BrokenExecutor, with nothing done, if `first` failed on the thread."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_ReadJob(work, contextvars.copy_context(), loop, answer))  # type: ignore[arg-type]  # T is the same in all of it
        return await answer


@dataclass(slots=True)
class _ReadJob(Generic[T]):
    work: Callable[[], T]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    answer: "asyncio.Future[T]"

    def do(self) -> None:
        try:
            value = self.context.run(self.work)
        except BaseException as error:  # noqa: BLE001 — it belongs to the one who waits, and this thread must live
            self.fail(error)
        else:
            self._report(self.answer.set_result, value)

    def fail(self, error: BaseException) -> None:
        self._report(self.answer.set_exception, error)

    def _report(self, settle: Callable[[X], None], outcome: X) -> None:
        try:
            self.loop.call_soon_threadsafe(_settle_unless_cancelled, self.answer, settle, outcome)
        except RuntimeError:
            pass  # the event loop has ended, and all waiting tasks with it


def _settle_unless_cancelled(answer: "asyncio.Future[T]", settle: Callable[[X], None], outcome: X) -> None:
    if not answer.done():
        settle(outcome)


def _serve(jobs: "SimpleQueue[_ReadJob[object] | None]", first: Callable[[], None] | None) -> None:
    ready = first is None or _done(first)
    while (job := jobs.get()) is not None:
        if ready:
            job.do()
        else:
            job.fail(BrokenExecutor("the thread could not be prepared"))
        del job  # so that the thread keeps nothing of this job while it waits for the next one


def _done(first: Callable[[], None]) -> bool:
    try:
        first()
    except OSError:
        return False
    return True


def _end(jobs: "SimpleQueue[_ReadJob[object] | None]", threads: int) -> None:
    for _ in range(threads):
        jobs.put(None)


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
