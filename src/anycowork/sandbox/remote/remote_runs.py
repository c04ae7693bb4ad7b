"""Commands that wait for joined workers or run on them. Belongs to one event loop.

A worker asks for a command, for the manifest of its workspace and for contents that it lacks, and sends back what the command changed. It gets
what belongs to a run that it has, for as long as the run goes on; for anything else there is no run.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import Conflict, Invalid, NotFound, TooLarge, ToolFault, Unauthenticated
from anycowork.domain.job_workers import JoinedWorker, TravelSettings, WorkerGone, WorkspaceChanged
from anycowork.sandbox.layers.stage import Stage
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.remote.content_pieces import append_piece, read_pieces, remove_contents
from anycowork.sandbox.remote.remote_run import LiveWorker, RemoteCommand, RemoteResult, RemoteRun
from anycowork.sandbox.remote.returned_layer import CHANGE_KINDS, write_layer
from anycowork.sandbox.remote.tree_manifest import (
    LARGEST_FILE,
    BadManifest,
    TreeChanges,
    TreeEntry,
    digest_of,
    read_manifest,
)
from anycowork.sandbox.remote.tree_reader import TreeReader
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

POLL_SECONDS = 10.0
LOOK_SECONDS = 0.5
RETURN_SECONDS = 5.0  # after its start a server does not know yet which workers live
SILENT_SECONDS = 30.0  # a worker that has asked for nothing for so long is gone
FAULT_SECONDS = 60.0  # a worker whose disk was full gets no task for so long
TRAVEL_SECONDS = 600.0  # for contents on a slow line, beside the command
MOST_BEGINNINGS = 3
MOST_SETUP_KEYS = 1_000
MOST_MANIFESTS = 8  # that are remembered for a worker
MOST_MANIFEST_PATHS = 400_000
MOST_RETURNED = 1 << 30  # bytes that one command may send back
_BLOCK = 4096


async def travels_by_default(root: str) -> TravelSettings:
    return TravelSettings()


class RemoteRuns:
    """`spool` holds contents that come back, until their run ends. `travel_of` returns how a workspace travels. `joined` is called when a
    worker can take tasks."""

    def __init__(
        self,
        spool: Path,
        *,
        travel_of: Callable[[str], Awaitable[TravelSettings]] = travels_by_default,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        self._spool = spool
        self._travel_of = travel_of
        self._setup_keys: dict[tuple[str, str], str] = {}
        self.silent_seconds = silent_seconds
        self._workers: dict[str, LiveWorker] = {}
        self._removed: set[str] = set()
        self._started_at = time.monotonic()
        self._worker_came = asyncio.Event()
        self._reader = TreeReader()
        self.joined: Callable[[], None] = lambda: None
        self.is_stopping: Callable[[], bool] = lambda: False
        """Tells whether the server shuts down: nobody waits for a command any more."""

    # --- workers

    def seen(self, worker: JoinedWorker, cache_bytes: int | None = None) -> LiveWorker:
        """Notes that the worker lives. Raises: Unauthenticated if it was removed after its request had begun."""
        if worker.id in self._removed:
            raise Unauthenticated("This worker was removed. Join again with a new token.")
        now = asyncio.get_running_loop().time()
        live = self._workers.get(worker.id)
        if live is None:
            live = self._workers[worker.id] = LiveWorker(worker, now)
            self._worker_came.set()
            self.joined()
        live.seen_at = now
        if cache_bytes is not None:
            live.cache_bytes = cache_bytes
        return live

    def come_back(self, worker: JoinedWorker) -> None:
        """Notes that the worker has restarted: what ran there ended with its process, and its tasks stay its own."""
        live = self.seen(worker)
        live.worker = worker
        self._end_runs(live)

    def remove(self, worker_id: str) -> None:
        """Ends what runs on a worker, and hears no more of it: neither of a request that has begun."""
        self._removed.add(worker_id)
        self.forget(worker_id)

    def forget(self, worker_id: str) -> None:
        """Ends what runs on a worker that is gone."""
        if (live := self._workers.pop(worker_id, None)) is not None:
            self._end_runs(live)

    def living(self) -> dict[str, LiveWorker]:
        """Returns the workers that were heard of lately. Runs of the others end."""
        oldest = asyncio.get_running_loop().time() - self.silent_seconds
        for worker_id, live in [*self._workers.items()]:
            if live.seen_at < oldest:
                self.forget(worker_id)
        return self._workers

    def offers(self, needs: Collection[str]) -> bool:
        return self._fitting(needs) is not None

    def assign(self, turn_id: str, task: str, needs: Collection[str]) -> str | None:
        """Returns the living worker with the fewest tasks that offers these labels; the task counts as its own until `release`."""
        live = self._fitting(needs)
        if live is None:
            return None
        live.tasks[turn_id] = task
        return live.worker.id

    async def worker_for(self, worker_id: str | None, needs: Collection[str]) -> str | None:
        """Returns the worker, or another one that offers the labels if it is gone. A server that has just started waits a moment for it.

        Raises: WorkerGone if there is none and some are needed.
        """
        while worker_id not in self.living() and (wait := self._started_at + RETURN_SECONDS - time.monotonic()) > 0:
            self._worker_came.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._worker_came.wait()
        last_worker = self.living().get(worker_id or "")
        if last_worker is not None and not last_worker.refusals:
            return worker_id
        live = self._fitting(needs)
        if live is None and needs:
            raise WorkerGone(
                f"No worker offers {', '.join(needs)} now. Start one with these labels, then run the command again."
            )
        return live.worker.id if live is not None else None

    def release(self, turn_id: str) -> None:
        for live in self._workers.values():
            live.tasks.pop(turn_id, None)

    def _fitting(self, needs: Collection[str]) -> LiveWorker | None:
        fitting = [
            live for live in self.living().values() if not live.refusals and set(needs) <= set(live.worker.labels)
        ]
        return min(fitting, key=lambda live: (len(live.tasks), live.worker.joined_at), default=None)

    def _end_runs(self, live: LiveWorker) -> None:
        for run in live.runs.values():
            if not run.done.done():
                run.done.set_exception(
                    WorkerGone(
                        f"The worker on {live.worker.host} is gone, and nothing of this command was kept. Run it again: it runs elsewhere."
                    )
                )

    # --- the server's side

    async def run(
        self,
        worker_id: str,
        command: RemoteCommand,
        jail: Jail,
        stage: Stage,
        *,
        covered: Iterable[WorkspacePath],
        on_output: Callable[[bytes], None] | None,
    ) -> RemoteResult:
        """Runs the command on the worker, and writes what it changed into the stage. If files change while they travel, it begins again.

        Raises: WorkerGone, WorkspaceChanged, CannotTravel, BadManifest.
        """
        masked = tuple(covered)
        for _ in range(MOST_BEGINNINGS - 1):
            with suppress(WorkspaceChanged):
                return await self._run_once(worker_id, command, jail, stage, masked, on_output)
        return await self._run_once(worker_id, command, jail, stage, masked, on_output)

    async def _run_once(
        self,
        worker_id: str,
        command: RemoteCommand,
        jail: Jail,
        stage: Stage,
        covered: Sequence[WorkspacePath],
        on_output: Callable[[bytes], None] | None,
    ) -> RemoteResult:
        if (live := self.living().get(worker_id)) is None:
            raise WorkerGone("The worker of this task is gone. Run the command again: it runs elsewhere.")
        travel = await self._travel_of(jail.origin)
        entries = await asyncio.to_thread(self._reader.read, jail, covered, travel.leave_out)
        async with self._running(live, command, jail, entries, travel, on_output) as run:
            try:
                async with asyncio.timeout(2 * command.seconds + TRAVEL_SECONDS):
                    result = await self._result(run)
            except TimeoutError:
                raise WorkerGone(
                    f"The worker on {live.worker.host} did not finish in time; nothing was kept."
                ) from None
            try:
                await asyncio.to_thread(
                    write_layer,
                    run.changes,
                    run.contents,
                    jail,
                    stage,
                    travelled=entries,
                    leave_out=travel.leave_out,
                )
            except OSError as error:
                raise BadManifest(f"What the worker sent back cannot be written ({error.strerror}).") from None
        return result

    async def _result(self, run: RemoteRun) -> RemoteResult:
        while True:
            done, _ = await asyncio.wait([run.done], timeout=1.0)
            if done:
                return run.done.result()
            self.living()  # ends the run if its worker is gone

    def _setup_key(self, job_id: str, setup: str, entries: Mapping[str, TreeEntry]) -> str:
        """Names the setup on the content that the job's first command sees: the files that its tasks change do not run it again."""
        if len(self._setup_keys) >= MOST_SETUP_KEYS:
            self._setup_keys.clear()
        if (job_id, setup) not in self._setup_keys or not job_id:
            digest = sha256(f"{setup}\0{digest_of(entries.values())}".encode())
            self._setup_keys[job_id, setup] = digest.hexdigest()
        return self._setup_keys[job_id, setup]

    @asynccontextmanager
    async def _running(
        self,
        live: LiveWorker,
        command: RemoteCommand,
        jail: Jail,
        entries: Mapping[str, TreeEntry],
        travel: TravelSettings,
        on_output: Callable[[bytes], None] | None,
    ) -> AsyncIterator[RemoteRun]:
        run_id = secrets.token_hex(16)
        spool = self._spool / run_id
        await asyncio.to_thread(spool.mkdir, 0o700, True)
        done: asyncio.Future[RemoteResult] = asyncio.get_running_loop().create_future()
        run = RemoteRun(run_id, live.worker.id, command, jail, spool, entries, on_output, done, travel)
        if travel.setup:
            run.setup_key = self._setup_key(command.job_id, travel.setup, entries)
        live.runs[run_id] = run
        live.wakes.set()
        try:
            yield run
        finally:
            live.runs.pop(run_id, None)
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, remove_tree, spool))

    # --- the worker's side

    async def next_run(
        self, worker: JoinedWorker, cache_bytes: int, runs: Collection[str] | None = None
    ) -> RemoteRun | None:
        """Waits a while for a command for this worker; None if none came. `runs` are those that it has: what else was given to it was lost
        on the way, and is given again. A worker asks once at a time, so only its newest request gets a command."""
        live = self.seen(worker, cache_bytes)
        live.requests += 1
        request_number = live.requests
        for run in live.runs.values():
            run.taken = run.taken and (runs is None or run.id in runs)
        loop = asyncio.get_running_loop()
        ends = loop.time() + min(POLL_SECONDS, self.silent_seconds / 3)
        while loop.time() < ends and not self.is_stopping() and live.requests == request_number:
            waiting = next((run for run in live.runs.values() if not run.taken), None)
            if waiting is not None:
                waiting.taken = True
                await asyncio.to_thread(remove_contents, waiting)
                return waiting
            live.wakes.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await live.wakes.wait()
        self.seen(worker)
        return None

    def require_run(self, worker: JoinedWorker, run_id: str) -> RemoteRun:
        """Raises: NotFound, whether there is no such run or it is another worker's."""
        run = self.seen(worker).runs.get(run_id)
        if run is None or run.done.done():
            raise NotFound("run", run_id[:64])
        return run

    async def manifest(self, worker: JoinedWorker, run_id: str, base: str) -> tuple[str, TreeChanges]:
        """Returns what the run's tree has else than the one that this worker was told of for its run `base`; all of it, relative to no run, if
        that is forgotten. Raises: NotFound.
        """
        run, manifests = self.require_run(worker, run_id), self.seen(worker).manifests
        base_entries = manifests.get(base)
        changes = await asyncio.to_thread(TreeChanges.between, base_entries or {}, run.entries)
        manifests.pop(base if base_entries is not None else "", None)
        manifests[run_id] = run.entries
        while len(manifests) > MOST_MANIFESTS or (
            len(manifests) > 1 and sum(map(len, manifests.values())) > MOST_MANIFEST_PATHS
        ):
            del manifests[next(iter(manifests))]
        return base if base_entries is not None else "", changes

    async def contents(
        self, worker: JoinedWorker, run_id: str, hashes: Sequence[str], offset: int, most_bytes: int
    ) -> list[bytes]:
        """Returns pieces of the first of these contents (`read_pieces`). Raises: NotFound, Conflict, Invalid."""
        run = self.require_run(worker, run_id)
        try:
            return await asyncio.to_thread(read_pieces, run, hashes, offset, most_bytes)
        except WorkspaceChanged as fault:
            if not run.done.done():
                run.done.set_exception(fault)
            raise Conflict(fault.message) from None

    async def put_content(self, worker: JoinedWorker, run_id: str, hash_: str, offset: int, data: bytes) -> None:
        """Takes the next piece of a content. Raises: NotFound, Invalid, Conflict, TooLarge."""
        run = self.require_run(worker, run_id)
        if len(hash_) != 64 or not hash_.isalnum() or not hash_.isascii():
            raise Invalid("A content is named by its SHA-256.", param="hash")
        run.received += max(len(data), _BLOCK)  # an empty file takes its place on the disk, too
        if run.received > MOST_RETURNED or offset + len(data) > LARGEST_FILE:
            raise TooLarge(f"A command sends back at most {MOST_RETURNED:,} bytes, and files of {LARGEST_FILE:,}.")
        path = run.spool / hash_
        await asyncio.to_thread(append_piece, path, offset, data)
        run.contents[hash_] = path

    def show_output(self, worker: JoinedWorker, run_id: str, data: bytes) -> None:
        run = self.require_run(worker, run_id)
        if run.on_output is not None and data:
            run.on_output(data)

    def finish(self, worker: JoinedWorker, run_id: str, result: RemoteResult, changes: object) -> None:
        """Ends the run with what its command changed. Raises: NotFound; BadManifest, which ends the run, too."""
        run = self.require_run(worker, run_id)
        try:
            run.changes = read_manifest(changes, kinds=CHANGE_KINDS)
        except BadManifest as fault:
            run.done.set_exception(fault)
            raise Invalid(fault.message, param="changes") from None
        run.done.set_result(result)

    def fail(self, worker: JoinedWorker, run_id: str, reason: str, *, machine_fault: bool = False) -> None:
        """Ends the run without a result: the worker could not run its command. After a fault of its machine it gets no task for a while."""
        run = self.require_run(worker, run_id)
        if machine_fault:
            live = self.seen(worker)
            live.fault = f"Its machine could not run a command: {reason[:200]}"
            live.fault_ends = live.seen_at + FAULT_SECONDS
            run.done.set_exception(
                WorkerGone(
                    f"The worker on {worker.host} could not run the command ({reason[:200]}). Run it again: it runs elsewhere."
                )
            )
            return
        run.done.set_exception(ToolFault(f"The worker on {worker.host} could not run the command: {reason[:500]}"))
