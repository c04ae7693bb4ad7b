"""Starts the programs of MCP servers in the sandbox, each with its own view of a workspace, and ends them with what they may not outlive."""

import asyncio
import os
import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anycowork.domain.errors import Invalid
from anycowork.domain.network import wanted_destinations
from anycowork.domain.path_class import is_key_file
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.values import value
from anycowork.mcp.program import ServerProgram
from anycowork.mcp.stdio_transport import Ended, message_streams
from anycowork.sandbox.bubblewrap import VisiblePaths
from anycowork.sandbox.cache_limits import UNWEIGHABLE, folder_size
from anycowork.sandbox.commit.transaction import Transaction
from anycowork.sandbox.layers.stage import Stage
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress, proxy_environment
from anycowork.sandbox.sandbox import CommandNotStarted, Sandbox
from anycowork.sandbox.secrets.cover_watch import identities
from anycowork.sandbox.secrets.masks import MaskedPaths, cover
from anycowork.sandbox.stdio_program import LineLog, start_words, started_process
from anycowork.workspace.jail import Jail

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MOST_KEPT = 4 << 30
_NAME = re.compile(r"[a-z0-9]++(?:[-_][a-z0-9]++)*+")
_LOOK_SECONDS = 1.0
_SHARE = 20  # a folder is measured for at most one part in so many of the time
_KEY_FILE_CAME = "the session was ended: a key file was written or replaced in the workspace"
_KEY_FILES = HiddenPathRules(withholds=is_key_file)


class DataFolders:
    """Creates, measures and removes them. `most` is the limit in bytes of each. Blocking, apart from `sizes`."""

    def __init__(self, base: Path, most: int = MOST_KEPT) -> None:
        self.base = base
        self.most = most

    def made(self, name: str) -> Path:
        """Returns the folder of the server with this name; creates it if necessary."""
        self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._path(name)
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def size(self, name: str) -> int | None:
        """Returns its bytes; 0 without a folder, None if they cannot be counted."""
        bytes_ = folder_size(self._path(name)).bytes
        return None if bytes_ >= UNWEIGHABLE else bytes_

    def names(self) -> list[str]:
        """Returns the names of servers that have kept something, also of those that were removed."""
        if not self.base.is_dir():
            return []
        return sorted(folder.name for folder in self.base.iterdir() if _NAME.fullmatch(folder.name))

    async def sizes(self, names: Sequence[str]) -> dict[str, int | None]:
        """Returns the bytes of each of these folders."""
        return {name: await asyncio.to_thread(self.size, name) for name in names}

    def remove(self, name: str) -> None:
        """Removes the folder with everything in it; follows no links."""
        remove_tree(self._path(name))

    def is_full(self, name: str) -> bool:
        """Whether it holds more than it may."""
        bytes_ = self.size(name)
        return bytes_ is None or bytes_ > self.most

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise Invalid(f"'{name[:80]}' is not the name of an MCP server.")
        return self.base / name


@asynccontextmanager
async def ended_when_full(look: Callable[[], str | None], end_session: Callable[[str], None]) -> AsyncIterator[None]:
    """While the block runs, calls `end_session` with the reason that `look` returns. `look` may block."""

    async def watch() -> None:
        while True:
            begun = time.monotonic()
            reason = await asyncio.to_thread(look)
            if reason is not None:
                end_session(reason)
                return
            await asyncio.sleep(max(_LOOK_SECONDS, _SHARE * (time.monotonic() - begun)))

    watching = asyncio.ensure_future(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])


@value
class ProgramView:
    """What a program sees besides its installation: the workspace of the `jail` without what is `hidden`, and a `home` that is kept.

    In a `transaction` it may change files, in its layer; else the workspace is read-only. `not_begun` is called if the sandbox could
    not be set up.
    """

    jail: Jail | None = None
    hidden: HiddenPathRules = _KEY_FILES
    transaction: Transaction | None = None
    home: Path | None = None
    not_begun: Callable[[], None] = lambda: None


@value
class ServerLauncher:
    """Starts programs of servers. `sandbox` None: this machine has none, and only those that may do without are started.

    `folders` are the data folders of servers."""

    sandbox: Sandbox | None
    egress: Egress
    data_dir: Path
    folders: DataFolders

    @asynccontextmanager
    async def run(
        self, program: ServerProgram, view: ProgramView, *, network: Sequence[str], lines: LineLog, end_session: Ended
    ) -> AsyncIterator["TransportStreams"]:
        """While the block runs, the program does. Raises: ToolFault, OSError."""
        async with AsyncExitStack() as things:
            if self.sandbox is None:
                process = things.enter_context(started_process(program.argv, env=_bare_environment(program), fds=()))
                first, covered = b"", MaskedPaths()
            else:
                process, covered = await self._start(self.sandbox, program, view, things, network, lines)
                first = program.first_line
                if view.transaction is not None or view.home is not None:
                    look = partial(self._reason_to_stop, self.sandbox, view)
                    await things.enter_async_context(ended_when_full(look, end_session))

            def broken() -> None:
                lines.add(f"AnyCowork: {_KEY_FILE_CAME}".encode())
                end_session(_KEY_FILE_CAME)

            things.enter_context(covered.watched(broken))
            yield await things.enter_async_context(
                message_streams(process, first, lines, end_session, covered.is_intact)
            )

    async def _start(
        self,
        sandbox: Sandbox,
        program: ServerProgram,
        view: ProgramView,
        things: AsyncExitStack,
        network: Sequence[str],
        lines: LineLog,
    ) -> tuple["subprocess.Popen[bytes]", MaskedPaths]:
        """The process, and what is covered from it. One that sees no workspace finds a proxy even without any host: what it wanted to
        reach and was refused is told."""
        jail, destinations = view.jail, wanted_destinations(network)
        stage, covered = await self._stage(sandbox, view, things)
        reach = NetworkReach(destinations, destinations) if network or jail is None else None
        try:
            launch = things.enter_context(
                sandbox.launch(
                    start_words(is_confined=jail is not None and view.transaction is None),
                    jail.origin if jail else "/",
                    stage,
                    source=jail.layers if jail else (),
                    cache_kept=False,
                    environment={"PATH": program.path, **(proxy_environment(reach) if reach else {})},
                    held_back=reach is not None,
                    sight=VisiblePaths(
                        program.places,
                        workspace=jail is not None,
                        hidden=program.hidden,
                        home=str(view.home) if view.home else None,
                    ),
                    masks=covered.masks,
                )
            )
        except CommandNotStarted:
            view.not_begun()
            raise
        things.callback(lambda: None if launch.mark.is_set() else view.not_begun())
        launch.status.watch()
        things.push_async_callback(launch.status.all_gone)
        if reach is not None:
            lines.network = await things.enter_async_context(
                self.egress.beside(launch, stage.runner, reach, covered.is_intact)
            )
        return things.enter_context(started_process(launch.argv, env={}, fds=launch.fds)), covered

    def key_files(self, root: str) -> frozenset[str]:
        """The key files that a program started now would not see, each with its inode. Blocking. Raises: ToolFault."""
        if self.sandbox is None:
            return frozenset()
        paths = (mask.place.path for mask in self.sandbox.key_files.masks(Jail(root), is_key_file))
        return frozenset(f"{path}\0{device}\0{inode}" for path, (device, inode) in identities([root], paths).items())

    async def _stage(self, sandbox: Sandbox, view: ProgramView, things: AsyncExitStack) -> tuple[Stage, MaskedPaths]:
        """The folders of this run, and what is covered in it."""
        if view.transaction is not None:
            return view.transaction.stage, view.transaction.covered
        jail = view.jail
        stage = await things.enter_async_context(sandbox.read_only(jail.root if jail else "/"))
        if jail is None:
            return stage, MaskedPaths()
        covered = await asyncio.to_thread(cover, jail, stage, view.hidden, sandbox.key_files, sandbox.hidden_paths)
        things.callback(covered.close)
        return stage, covered

    def _reason_to_stop(self, sandbox: Sandbox, view: ProgramView) -> str | None:
        """Blocking."""
        if view.transaction is not None and sandbox.is_disk_nearly_full(view.transaction.stage):
            return "the disk is nearly full, so it was stopped"
        if view.home is None:
            return None
        if sandbox.has_no_room_in(view.home):
            return "the disk of its data folder is nearly full, so it was stopped"
        return self.why_full(view.home.name)

    def why_full(self, server: str) -> str | None:
        """Why the server cannot run with its data folder; None if it can. Blocking."""
        if not self.folders.is_full(server):
            return None
        return (
            f"its data folder holds more than {self.folders.most:,} bytes (the setting mcp_data_bytes), or too deep folders. Empty it: "
            f"`anycowork mcp clean {server}`"
        )


def _bare_environment(program: ServerProgram) -> dict[str, str]:
    import json

    variables = json.loads(program.first_line)["env"]  # noqa: TID251  # our own process wrote it
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home()), "LANG": "C.UTF-8", **variables}
