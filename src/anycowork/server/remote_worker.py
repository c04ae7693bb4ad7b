"""A worker that joined over HTTP: it asks its server for commands of tasks, runs each in its own sandbox over a tree laid from contents, and
sends back what the command changed. It holds no key of a model, no password of the database and not the server's token."""

import asyncio
import base64
import errno
import os
import platform
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any  # what came over the network

import aiohttp
import msgspec

from anycowork import __version__
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import AnyCoworkError, ToolFault
from anycowork.sandbox.commit.delta import FOLDER, LINK, Delta
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.remote.content_pieces import MOST_HASHES
from anycowork.sandbox.remote.tree_manifest import (
    FILE,
    LARGEST_FILE,
    REMOVED,
    STAYS_AT_HOME,
    TreeChanges,
    TreeEntry,
    read_changes,
    rows_of,
    travel_walk,
)
from anycowork.sandbox.sandbox import Sandbox
from anycowork.server.setup_cache import SetupCache
from anycowork.server.worker_cache import UNFINISHED, ContentCache, LaidTree, TreePool
from anycowork.server.worker_connection import RETRY_SECONDS, NotJoined, RunGone, WorkerConnection
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult, SandboxedProgram, run_on_best_layer
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.reader_threads import run_uncancellable

ALIVE_SECONDS = 1.0
QUIET_SECONDS = 3.0  # so often a command is reported that prints nothing: it learns as late that nobody waits for it
SETUP_SECONDS = 540.0  # less than the server waits beside the command
MOST_OUTPUT = 6_000_000  # bytes; it travels in one request


class RemoteWorker:
    def __init__(
        self, link: WorkerConnection, sandbox: Sandbox | None, folder: Path, *, report: Callable[[str], None]
    ) -> None:
        self._link = link
        self._sandbox = sandbox
        self._report = report
        self.secret = ""
        self._folder = folder
        self._cache = ContentCache(folder / "contents")
        self._trees = TreePool(folder / "trees", self._cache)
        self._setups = SetupCache(folder / "setups")
        self._at_work: set[str] = set()
        self._asking = asyncio.Lock()
        self._laying = asyncio.Lock()
        self._setting_up = asyncio.Lock()

    async def join(self, token: str, labels: Sequence[str]) -> str:
        """Returns this worker's id. `token` is a join token, or the secret of a worker that comes back. Raises: NotJoined."""
        offer = {
            "token": token,
            "host": platform.node() or "unknown",
            "labels": [*labels],
            "level": "full" if self._sandbox is not None else "none",
            "processor": platform.machine(),
            "version": __version__,
        }
        joined: Any = read_json(await self._link.ask("POST", "/workers/join", offer))
        self.secret = self._link.secret = str(joined["secret"])
        return str(joined["id"])

    async def work(self, runs: int) -> None:
        """Runs so many commands at the same time, until it is cancelled. Raises: NotJoined if the server removed it."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(runs):
                tasks.create_task(self._take_commands())

    async def _take_commands(self) -> None:
        while True:
            try:
                if (run := await self._next_run()) is not None:
                    try:
                        await self._run(run)
                    finally:
                        self._at_work.discard(str(run["id"]))
            except (aiohttp.ClientError, TimeoutError, ToolFault) as error:
                self._report(f"The server does not answer ({str(error) or type(error).__name__}); trying again.")
                await asyncio.sleep(RETRY_SECONDS)
            except RunGone:
                continue

    async def _next_run(self) -> dict[str, Any] | None:
        """Asks for all places that are free, one after the other: what waits at the server costs it as much as the worker has places else."""
        async with self._asking:
            state = {"cache_bytes": self._cache.size, "runs": [*self._at_work]}
            answer: Any = read_json(await self._link.ask("POST", "/worker-runs/next", state))
            run: dict[str, Any] | None = answer["run"]
            if run is not None:
                self._at_work.add(str(run["id"]))
            return run

    async def _run(self, run: dict[str, Any]) -> None:
        path = f"/worker-runs/{run['id']}"
        printed = bytearray()
        try:
            async with asyncio.TaskGroup() as tasks:
                alive = tasks.create_task(self._say_alive(path, printed))
                try:
                    async with self._tree(run, path) as tree:
                        child, changes = await self._contained(run, path, tree, printed)
                        alive.cancel()
                        await self._link.ask("POST", f"{path}/result", _result(child, changes))
                finally:
                    alive.cancel()
        except BaseExceptionGroup as group:
            await self._end_faulty(path, group.exceptions[0])

    async def _end_faulty(self, path: str, fault: BaseException) -> None:
        """Tells the server why the command has no result, if it waits for one."""
        if isinstance(fault, (NotJoined, aiohttp.ClientError, TimeoutError)):  # the line, not the machine
            raise fault from None
        if isinstance(fault, AnyCoworkError):
            await self._link.ask("POST", f"{path}/result", {"error": fault.message[:2000]})
        elif isinstance(fault, OSError):
            reason = str(fault.strerror or fault)[:2000]
            await self._link.ask("POST", f"{path}/result", {"error": reason, "machine_fault": True})
        else:
            raise fault from None

    @asynccontextmanager
    async def _tree(self, run: dict[str, Any], path: str) -> AsyncIterator[LaidTree]:
        async with self._laying:
            await asyncio.to_thread(self._cache.trim)
            try:
                tree = await self._lay(run, path)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                await asyncio.to_thread(self._make_room)
                tree = await self._lay(run, path)
        try:
            await asyncio.to_thread(self._require_room)
            yield tree
        finally:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._trees.give_back, tree))

    def _require_room(self) -> None:
        """Raises: OSError if a command would be stopped because the disk is nearly full."""
        if self._sandbox is not None and self._sandbox.has_no_room_in(self._folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _make_room(self) -> None:
        """Gives up all that is kept for later commands."""
        self._trees.clear()
        self._cache.clear()

    async def _lay(self, run: dict[str, Any], path: str) -> LaidTree:
        """Returns a tree with what the run's manifest names. Of a tree that is here already, only what differs is asked for and laid."""
        root, setup_key = str(run["root"]), run["setup"]["key"] if run["setup"] is not None else ""
        tree = await asyncio.to_thread(self._trees.take, root, setup_key)
        while True:
            try:
                changes = await self._changes(tree, path)
            except BaseException:
                await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._trees.give_back, tree))
                raise
            was_empty = not tree.run_id
            try:
                await run_uncancellable(partial(self._trees.update, tree, str(run["id"]), changes))
            except (ToolFault, OSError):
                if was_empty:
                    raise
                tree = await asyncio.to_thread(self._trees.empty, root)
            else:
                return tree

    async def _changes(self, tree: LaidTree, path: str) -> TreeChanges:
        """Returns what differs from the tree, when all contents for it are in the cache."""
        answer = msgspec.json.decode(await self._link.ask("GET", f"{path}/manifest?base={tree.run_id}"))
        base, changes = await asyncio.to_thread(read_changes, answer)
        if base != tree.run_id:  # the server has forgotten that tree, and sent all of the new one
            changes = TreeChanges.between(tree.entries, {entry.path: entry for entry in changes.changed})
        await self._fetch(path, changes.changed)
        return changes

    async def _fetch(self, path: str, entries: Sequence[TreeEntry]) -> None:
        """Asks for what the cache lacks, piece by piece; after a broken connection only for the rest."""
        sizes = {entry.hash: entry.size for entry in entries if entry.kind == FILE}
        partial_content = bytearray()  # of the first one that is missing
        loop, pieces = asyncio.get_running_loop(), self._link.pieces
        while missing := await asyncio.to_thread(self._cache.missing, entries):
            asked = {"hashes": missing[:MOST_HASHES], "offset": len(partial_content), "most_bytes": pieces.bytes}
            started_at = loop.time()
            frames = _frames(await self._link.ask("POST", f"{path}/contents", asked))
            pieces.took(sum(map(len, frames)), loop.time() - started_at)
            if not frames or not (sizes[missing[0]] == 0 or frames[0]):
                raise ToolFault("The server sent no content.")
            for hash_, frame in zip(missing, frames, strict=False):
                partial_content += frame
                if len(partial_content) < sizes[hash_]:
                    break
                await asyncio.to_thread(self._cache.add, hash_, bytes(partial_content))
                partial_content.clear()

    async def _contained(
        self, run: dict[str, Any], path: str, tree: LaidTree, printed: bytearray
    ) -> tuple[ChildResult, list[TreeEntry]]:
        if self._sandbox is None:
            raise ToolFault("This worker has no sandbox.")
        sandbox = self._sandbox
        limits = ChildLimits(seconds=float(run["seconds"]), output=min(int(run["output"]), MOST_OUTPUT))
        program = SandboxedProgram(sandbox, str(run["command"]), limits, printed.extend)
        jail = Jail(str(tree.path), origin=str(run["root"]))

        async def attempt(layer: Layer) -> tuple[ChildResult, list[TreeEntry]]:
            async with sandbox.begin(jail, layer) as transaction:
                child, _ = await program.run(jail.origin, transaction.stage, source=jail.layers, cache_kept=True)
                delta = await asyncio.to_thread(transaction.look)
                upper = transaction.stage.upper
                changes = await asyncio.to_thread(_changed, jail, delta, upper, run["leave_out"], tree.stays)
                await self._send(path, changes, upper)
                return child, changes

        await self._set_up(run["setup"], sandbox, jail, tree)
        return await run_on_best_layer(sandbox, str(tree.path), attempt)

    async def _set_up(self, setup: dict[str, str] | None, sandbox: Sandbox, jail: Jail, tree: LaidTree) -> None:
        """Adds what the workspace's setup command makes to the tree. It runs once for each key.

        Raises: ToolFault if the command fails.
        """
        if setup is None or tree.setup_key == setup["key"]:
            return
        key, limits = setup["key"], ChildLimits(seconds=SETUP_SECONDS, output=MOST_OUTPUT)
        program = SandboxedProgram(sandbox, setup["command"], limits)

        async def attempt(layer: Layer) -> None:
            async with sandbox.begin(jail, layer) as transaction:
                child, _ = await program.run(jail.origin, transaction.stage, source=jail.layers, cache_kept=True)
                if child.how is not ChildEnding.ITSELF or child.exit_code:
                    printed = child.output.decode(errors="replace").strip()[-1000:]
                    raise ToolFault(f"The workspace's setup ended with {child.exit_code} ({child.how.name}): {printed}")
                delta = await asyncio.to_thread(transaction.look)
                await asyncio.to_thread(
                    partial(self._setups.keep, key, delta, transaction.stage.upper, travelled=tree.entries)
                )

        async with self._setting_up:
            if not await asyncio.to_thread(self._setups.has, key):
                await run_on_best_layer(sandbox, jail.root, attempt)
            tree.setup_key = UNFINISHED  # until all of it is there
            tree.stays = await asyncio.to_thread(partial(self._setups.lay, key, tree.path, travelled=tree.entries))
            tree.setup_key = key

    async def _say_alive(self, path: str, printed: bytearray) -> None:
        """Sends what the command prints; while its tree is laid, too, which takes long on a slow line: a silent worker is taken for gone.

        Raises: RunGone, which stops the command.
        """
        loop = asyncio.get_running_loop()
        told_at = loop.time()
        while True:
            await asyncio.sleep(ALIVE_SECONDS)
            if not printed and loop.time() - told_at < QUIET_SECONDS:
                continue
            piece, told_at = bytes(printed[: self._link.pieces.bytes]), loop.time()
            del printed[: len(piece)]
            try:
                await self._link.ask("POST", f"{path}/output", data=piece)
            except (aiohttp.ClientError, TimeoutError):
                continue

    async def _send(self, path: str, changed: Sequence[TreeEntry], upper: Path) -> None:
        """Sends the contents of changed files, each once."""
        files = {entry.hash: entry for entry in changed if entry.kind == FILE}
        for entry in files.values():
            await self._send_content(path, entry, upper / entry.path)

    async def _send_content(self, path: str, entry: TreeEntry, file: Path) -> None:
        content = await asyncio.to_thread(file.read_bytes)
        loop, pieces = asyncio.get_running_loop(), self._link.pieces
        offset = 0
        while offset < len(content) or not offset:
            piece, started_at = content[offset : offset + pieces.bytes], loop.time()
            await self._link.ask("PUT", f"{path}/contents/{entry.hash}?offset={offset}", data=piece)
            pieces.took(len(piece), loop.time() - started_at)
            offset += max(len(piece), 1)
        if self._cache.missing([entry]):
            with suppress(OSError):  # the server has it: a full disk does not matter here
                await asyncio.to_thread(self._cache.add, entry.hash, content)


def _changed(jail: Jail, delta: Delta, upper: Path, leave_out: Sequence[str], stays: Sequence[str]) -> list[TreeEntry]:
    """Returns all changes but those in what did not travel, and in what `stays` here. Raises: ToolFault for a file that is too large."""
    paths = [change.place.path for change in delta.changes]
    ignored = travel_walk(jail, leave_out).ignored_among(paths)
    left_out = [WorkspacePath(tuple(path.split("/"))) for path in (*ignored, *STAYS_AT_HOME, *stays)]
    entries: list[TreeEntry] = []
    for change in delta.changes:
        path, after = change.place.path, change.after
        if any(left_out_path.holds(change.place) for left_out_path in left_out):
            continue
        if after is None:
            entries.append(TreeEntry(path, REMOVED))
        elif after.kind == FOLDER:
            entries.append(TreeEntry(path, FOLDER, after.mode & 0o777))
        elif after.kind == LINK:
            entries.append(TreeEntry(path, LINK, target=str((upper / path).readlink())))
        else:
            content = (upper / path).read_bytes() if after.size <= LARGEST_FILE else None
            if content is None:
                raise ToolFault(f"'{path}' is larger than {LARGEST_FILE:,} bytes and cannot travel.")
            entries.append(TreeEntry(path, FILE, after.mode & 0o777, sha256(content).hexdigest(), len(content)))
    return entries


def _result(child: ChildResult, changes: Sequence[TreeEntry]) -> dict[str, object]:
    return {
        "how": child.how.name,
        "exit_code": child.exit_code,
        "output": base64.b64encode(child.output).decode(),
        "seconds": child.seconds,
        "changes": rows_of(changes),
    }


def _frames(data: bytes) -> list[bytes]:
    frames, position = [], 0
    while position + 8 <= len(data):
        size = int.from_bytes(data[position : position + 8], "big")
        frames.append(data[position + 8 : position + 8 + size])
        position += 8 + size
    return frames
