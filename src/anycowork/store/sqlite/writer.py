"""The one thread that writes. It commits whatever has queued up as a group: one sync for all of it."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from queue import SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from anycowork.domain.errors import Conflict, DatabaseDamaged, StorageFault
from anycowork.domain.values import value
from anycowork.store.sqlite.connection import is_damaged

LARGEST_GROUP = 512

T = TypeVar("T")
P = TypeVar("P")


class WriteDone(NamedTuple, Generic[T]):
    """It is durable; `value` is what the work returned."""

    value: T


@value
class WriteFailed:
    """Nothing of it was written."""

    error: BaseException


Work = Callable[[sqlite3.Connection], T]
Whole = Callable[[sqlite3.Connection, Sequence[P]], Sequence[T]]
"""Does many works of one kind at a time: one result for each, in their order."""
Settle = Callable[[WriteDone[T] | WriteFailed], None]
Outcomes = list[WriteDone[object] | WriteFailed]


class _WriteJob(NamedTuple):
    """`whole` does it together with its neighbours of the same kind; without one, `work` is called alone."""

    whole: Whole[object, object] | None
    work: object
    settle: Settle[object]


@dataclass(slots=True)
class Tally:
    """How often the disk was asked, and for how much."""

    works: int = 0
    commits: int = 0
    faults: int = 0


class UncancellableFuture(asyncio.Future[T]):
    """The outcome, when it is known. Whoever is cancelled meanwhile is told only then, so that clean-up reads what is true."""

    def cancel(self, msg: object = None) -> bool:
        return False  # the task that waits keeps its cancellation until this is done

    def settle(self, outcome: WriteDone[T] | WriteFailed) -> None:
        match outcome:
            case WriteDone(value):
                self.set_result(value)
            case WriteFailed(error):
                self.set_exception(error)


# What the work itself did wrong. Every other error of SQLite is the disk's, and undoes the group.
_OF_THE_WORK = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.NotSupportedError)


class Writer:
    """Works are done in the order they were submitted, each wholly or not at all, and settled in that order on the event loop.

    Belongs to one event loop. What is submitted in one round of it reaches the disk as one group: many who go on together
    are synced together, and one who is alone waits for no one.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        undone: Callable[[], None] = lambda: None,
        committed: Callable[[], None] = lambda: None,
    ) -> None:
        """`undone` is called on the writer's thread whenever something was rolled back: what was remembered of it is not true.

        `committed` is called there when a group is durable, before anyone is told. It must not raise.
        """
        self.tally = Tally()
        self._connection = connection
        self._undone = undone
        self._committed = committed
        self._round: list[_WriteJob] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: SimpleQueue[list[_WriteJob] | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T], settle: Settle[T]) -> None:
        """`work` runs on the writer's thread in a transaction; `settle` is called on this event loop when it is durable, or failed.

        It may run a second time, after a roll-back: what it does, it does through its connection alone.
        """
        self._enter(_WriteJob(None, work, settle))  # type: ignore[arg-type]  # T is the same in both

    def submit_part(self, whole: Whole[P, T], part: P, settle: Settle[T]) -> None:
        """The same for a work that is cheaper among its like: `whole` is given all neighbouring parts at once."""
        self._enter(_WriteJob(whole, part, settle))  # type: ignore[arg-type]  # P and T are the same in all three

    async def run(self, work: Work[T]) -> T:
        """Raises: what `work` raised; StorageFault if it could not be made durable."""
        known: UncancellableFuture[T] = UncancellableFuture()
        self.submit(work, known.settle)
        return await known

    def close(self) -> None:
        """Finishes what is queued, then ends the thread."""
        if not self._closed:
            self._closed = True
            self._hand_over()
            self._queue.put(None)
            self._thread.join()

    # --- on the event loop

    def _enter(self, job: _WriteJob) -> None:
        if self._closed:
            job.settle(WriteFailed(StorageFault("The store is closed: the server is shutting down.")))
            return
        if not self._round:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._hand_over)
        self._round.append(job)

    def _hand_over(self) -> None:
        if self._round:
            self._queue.put(self._round)
            self._round = []

    # --- on the writer's thread

    def _serve(self) -> None:
        while (first := self._queue.get()) is not None:
            group, ending = self._gather(first)
            outcomes = self._commit(group)
            self._hand_back(group, outcomes)
            if ending:
                return

    def _gather(self, group: list[_WriteJob]) -> tuple[list[_WriteJob], bool]:
        while len(group) < LARGEST_GROUP and not self._queue.empty():  # no one else takes from it
            more = self._queue.get()
            if more is None:
                return group, True
            group += more
        return group, False

    def _commit(self, group: list[_WriteJob]) -> Outcomes:
        try:
            outcomes = self._all_at_once(group) or self._one_by_one(group)
        except sqlite3.Error as error:
            self.tally.faults += 1
            self._roll_back()
            return [WriteFailed(_storage_fault(error)) for _ in group]
        self.tally.works += len(group)
        self.tally.commits += 1
        self._committed()
        return outcomes

    def _all_at_once(self, group: list[_WriteJob]) -> Outcomes | None:
        """Nearly always no work raises, and then none needs a savepoint: they would be a quarter of the cost. None if one raised."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            outcomes: Outcomes = [WriteDone(value) for value in self._results(group)]
        except BaseException as error:  # whose it is, is found out one by one
            if isinstance(error, sqlite3.Error) and not isinstance(error, _OF_THE_WORK):
                raise
            self._connection.execute("ROLLBACK")
            self._undone()
            return None
        self._connection.execute("COMMIT")
        return outcomes

    def _results(self, jobs: Sequence[_WriteJob]) -> Iterator[object]:
        for whole, alike in groupby(jobs, key=_whole):
            if whole is not None:
                yield from whole(self._connection, [job.work for job in alike])
                continue
            for job in alike:
                yield job.work(self._connection)  # type: ignore[operator]  # without a whole it is a Work

    def _one_by_one(self, group: list[_WriteJob]) -> Outcomes:
        self._connection.execute("BEGIN IMMEDIATE")
        outcomes = [self._attempt(job) for job in group]
        self._connection.execute("COMMIT")
        return outcomes

    def _attempt(self, job: _WriteJob) -> WriteDone[object] | WriteFailed:
        """One work behind its own savepoint: what it raises undoes it alone. What the disk raises undoes the group."""
        self._connection.execute("SAVEPOINT work")
        try:
            outcome: WriteDone[object] | WriteFailed = WriteDone(next(self._results([job])))
        except sqlite3.IntegrityError as error:
            outcome = WriteFailed(Conflict(f"This is there already, or contradicts what is there ({error})."))
        except _OF_THE_WORK as error:
            outcome = WriteFailed(error)
        except sqlite3.Error:
            raise
        except BaseException as error:  # noqa: BLE001 — it belongs to the one who waits, and this thread must live
            outcome = WriteFailed(error)
        if isinstance(outcome, WriteFailed):
            self._connection.execute("ROLLBACK TO work")
            self._undone()
        self._connection.execute("RELEASE work")
        return outcome

    def _roll_back(self) -> None:
        # A full disk may have made SQLite roll back by itself already. What cannot be rolled back now is tried with the next group.
        self._undone()
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _hand_back(self, group: list[_WriteJob], outcomes: Outcomes) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the event loop has ended, and all who waited with it
            self._loop.call_soon_threadsafe(_settle, self._loop, zip(group, outcomes, strict=True))


def _whole(job: _WriteJob) -> Whole[object, object] | None:
    return job.whole


def _settle(
    loop: asyncio.AbstractEventLoop, settled: Iterator[tuple[_WriteJob, WriteDone[object] | WriteFailed]]
) -> None:
    """All in one round of the loop. One that raises is the loop's to report, and leaves those after it alone."""
    finished = False
    try:
        for job, outcome in settled:
            job.settle(outcome)
        finished = True
    finally:
        if not finished:
            loop.call_soon(_settle, loop, settled)


def _storage_fault(error: sqlite3.Error) -> StorageFault:
    if is_damaged(error):
        fault: StorageFault = DatabaseDamaged(
            f"The database is damaged ({error}); nothing of this request was kept. Stop the server and put a backup in its place."
        )
    else:
        fault = StorageFault(
            f"The database could not be written ({error}); nothing of this request was kept."
            " Free some disk space or end the program that locks it, then try again."
        )
    fault.__cause__ = error  # raised elsewhere: whoever answers can tell a full disk from a locked database
    return fault
