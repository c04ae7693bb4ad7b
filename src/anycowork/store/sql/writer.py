"""The only thread that writes. It commits everything queued as one group, with one sync."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from queue import SimpleQueue
from typing import Generic, TypeVar

import msgspec

from anycowork.domain.errors import Conflict, StorageFault
from anycowork.domain.values import mutable_value, value
from anycowork.store.sql.connection import SqlConnection, WriteConnection

LARGEST_GROUP = 512
ATTEMPTS = 3  # at a group, while its connection is lost and comes back

T = TypeVar("T")
P = TypeVar("P")


class WriteDone(msgspec.Struct, Generic[T], frozen=True):
    """The write is durable; `value` is what the work returned."""

    value: T


@value
class WriteFailed:
    """Nothing of it was written."""

    error: BaseException


Work = Callable[[SqlConnection], T]
Whole = Callable[[SqlConnection, Sequence[P]], Sequence[T]]
"""Does several works of one kind together and returns one result for each, in order."""
Settle = Callable[[WriteDone[T] | WriteFailed], None]
Outcomes = list[WriteDone[object] | WriteFailed]


@value
class _WriteJob:
    """A queued work. `run_batch` does it together with neighbouring works of the same kind; without it, `work` is called alone."""

    run_batch: Whole[object, object] | None
    work: object
    settle: Settle[object]
    exclusive: bool = False
    step: bool = False


@mutable_value
class CommitCounts:
    """Counts disk commits and the works in them."""

    works: int = 0
    commits: int = 0
    faults: int = 0


class UncancellableFuture(asyncio.Future[T]):
    """A future that cannot be cancelled.

    A waiting task sees its cancellation only when the outcome is known, so clean-up reads true data.
    """

    def cancel(self, msg: object = None) -> bool:
        return False  # the waiting task keeps its cancellation until this is done

    def settle(self, outcome: WriteDone[T] | WriteFailed) -> None:
        if isinstance(outcome, WriteDone):
            self.set_result(outcome.value)
        else:
            self.set_exception(outcome.error)


class Writer:
    """Runs works in the order they were submitted, each completely or not at all, and settles them in that order on the event loop.

    Belongs to one event loop. Works submitted in one round of the loop reach the disk as one group: concurrent tasks share a sync, and a
    single task waits for no other.
    """

    def __init__(
        self,
        connection: WriteConnection,
        *,
        undone: Callable[[], None],
        committed: Callable[[], None],
        settled: Callable[[], None],
    ) -> None:
        """Calls `undone` on the writer's thread after every rollback: cached state may then be wrong.

        Calls `committed` there when a group is durable, before the works are settled, and `settled` afterwards. They must not raise.
        """
        self.tally = CommitCounts()
        self.changes = 0
        """How many works were settled that are no step of a turn: while it stays, only steps were written. For the event loop."""
        self._connection = connection
        self._dialect = connection.dialect
        self._undone = undone
        self._committed = committed
        self._settled = settled
        self.measured: Callable[[int, float], None] = lambda works, seconds: None
        """Called on the writer's thread with the size of a group and the time that it took. It must not raise."""
        self._round: list[_WriteJob] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: SimpleQueue[list[_WriteJob] | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T], settle: Settle[T], *, exclusive: bool = True) -> None:
        """Runs `work` on the writer's thread in a transaction; calls `settle` on this event loop when it is durable or failed.

        The work may run again after a rollback, so it must act through its connection only. Unless it is `exclusive`, other servers
        may write while it runs: its statements must be right by themselves.
        """
        self._enqueue(_WriteJob(None, work, settle, exclusive))  # type: ignore[arg-type]  # T is the same in both

    def submit_part(self, run_batch: Whole[P, T], part: P, settle: Settle[T], *, step: bool = False) -> None:
        """Does the same for a work that is cheaper in a batch: `run_batch` gets all neighbouring parts at once."""
        self._enqueue(_WriteJob(run_batch, part, settle, step=step))  # type: ignore[arg-type]  # P and T are the same in all three

    async def run(self, work: Work[T], *, exclusive: bool = True) -> T:
        """Runs a work and returns its result. Raises: what `work` raised; StorageFault if it could not be made durable."""
        future: UncancellableFuture[T] = UncancellableFuture()
        self.submit(work, future.settle, exclusive=exclusive)
        return await future

    def close(self) -> None:
        """Finishes the queued works, then ends the thread."""
        if not self._closed:
            self._closed = True
            self._hand_over()
            self._queue.put(None)
            self._thread.join()

    # --- on the event loop

    def _enqueue(self, job: _WriteJob) -> None:
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
        while self._serve_group():
            pass

    def _serve_group(self) -> bool:
        """Returns False at the end. A function of its own: what was written and found is not kept while the next is awaited."""
        first = self._queue.get()
        if first is None:
            return False
        group, ending = self._gather(first)
        self._hand_back(group, self._commit(group))
        self._settled()
        return not ending

    def _gather(self, group: list[_WriteJob]) -> tuple[list[_WriteJob], bool]:
        while len(group) < LARGEST_GROUP and not self._queue.empty():  # this thread is the only consumer
            more = self._queue.get()
            if more is None:
                return group, True
            group += more
        return group, False

    def _commit(self, group: list[_WriteJob]) -> Outcomes:
        begun = time.perf_counter()
        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                outcomes = self._all_at_once(group) or self._one_by_one(group)
            except self._dialect.errors as error:
                self.tally.faults += 1
                self._roll_back()
                if attempts_left and self._connection.restore(error):
                    continue
                return [WriteFailed(self._dialect.storage_fault(error)) for _ in group]
            break
        self.tally.works += len(group)
        self.tally.commits += 1
        self._committed()
        self.measured(len(group), time.perf_counter() - begun)
        return outcomes

    def _all_at_once(self, group: list[_WriteJob]) -> Outcomes | None:
        """Runs all works without savepoints, which would be a quarter of the cost: works rarely raise. Returns None if one raised."""
        self._connection.begin(exclusive=_is_exclusive(group), later=_is_of_one_kind(group))
        try:
            outcomes: Outcomes = [WriteDone(value) for value in self._results(group)]
            self._connection.commit()
        except BaseException as error:  # the one-by-one run finds out whose error it is
            if isinstance(error, self._dialect.errors) and not isinstance(error, self._dialect.errors_of_work):
                raise
            self._connection.rollback()
            self._undone()
            return None
        return outcomes

    def _results(self, jobs: Sequence[_WriteJob]) -> Iterator[object]:
        for run_batch, alike in groupby(jobs, key=_batch_runner):
            if run_batch is not None:
                yield from run_batch(self._connection, [job.work for job in alike])
                continue
            for job in alike:
                yield job.work(self._connection)  # type: ignore[operator]  # without `run_batch` it is a Work

    def _one_by_one(self, group: list[_WriteJob]) -> Outcomes:
        self._connection.begin(exclusive=_is_exclusive(group))
        outcomes = [self._attempt(job) for job in group]
        self._connection.commit()
        return outcomes

    def _attempt(self, job: _WriteJob) -> WriteDone[object] | WriteFailed:
        """Runs one work behind a savepoint: its own error undoes only it; a disk error undoes the group."""
        self._connection.execute("SAVEPOINT work")
        try:
            outcome: WriteDone[object] | WriteFailed = WriteDone(next(self._results([job])))
            self._connection.flush()
        except self._dialect.integrity_errors as error:
            outcome = WriteFailed(Conflict(f"This exists already, or contradicts existing data ({error})."))
        except self._dialect.errors_of_work as error:
            outcome = WriteFailed(error)
        except self._dialect.errors:
            raise
        except BaseException as error:  # noqa: BLE001 — the error belongs to the waiting task, and this thread must survive
            outcome = WriteFailed(error)
        if isinstance(outcome, WriteFailed):
            self._connection.execute("ROLLBACK TO work")
            self._undone()
        self._connection.execute("RELEASE work")
        return outcome

    def _roll_back(self) -> None:
        # The database may have rolled back already. If rolling back fails now, the next group tries again.
        self._undone()
        if self._connection.in_transaction:
            with suppress(*self._dialect.errors):
                self._connection.rollback()

    def _hand_back(self, group: list[_WriteJob], outcomes: Outcomes) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the event loop has ended, and all waiting tasks with it
            self._loop.call_soon_threadsafe(self._settle, self._loop, zip(group, outcomes, strict=True))

    # --- on the event loop again

    def _settle(
        self, loop: asyncio.AbstractEventLoop, settled: Iterator[tuple[_WriteJob, WriteDone[object] | WriteFailed]]
    ) -> None:
        """Settles all in one round of the loop. If one raises, the loop reports it, and the others are still settled."""
        finished = False
        try:
            for job, outcome in settled:
                self.changes += not job.step
                job.settle(outcome)
            finished = True
        finally:
            if not finished:
                loop.call_soon(self._settle, loop, settled)


def _is_exclusive(group: Sequence[_WriteJob]) -> bool:
    return any(job.exclusive for job in group)


def _is_of_one_kind(group: Sequence[_WriteJob]) -> bool:
    return group[0].run_batch is not None and all(job.run_batch == group[0].run_batch for job in group)


def _batch_runner(job: _WriteJob) -> Whole[object, object] | None:
    return job.run_batch
