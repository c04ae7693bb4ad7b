"""Runs a command as a transaction: its own view of the machine, its writes in a separate layer, then committed together or dropped.

`bubblewrap.py` and `seccomp.py` confine it, `limits.py` limits its resources, `stage.py` holds its writes. The tool starts the process and
watches its limits.
"""

import asyncio
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules
from anycowork.domain.values import mutable_value
from anycowork.domain.visible_text import os_reason
from anycowork.sandbox.bubblewrap import HOME, Descriptors, SandboxView, VisiblePaths, bubblewrap_arguments, overlays
from anycowork.sandbox.commit.transaction import Transaction
from anycowork.sandbox.layers.mounts import LONGEST_OPTIONS, Overlay, VolatileLayers, mount_check
from anycowork.sandbox.layers.private_copy import copy_workspace
from anycowork.sandbox.layers.stage import Layer, Stage, Staging
from anycowork.sandbox.layers.staging_folders import Runner, remove_tree, runner_for
from anycowork.sandbox.limits import CommandLimits, counted, limited_shell
from anycowork.sandbox.package_caches import PackageCaches, PackageMount, mount_packages
from anycowork.sandbox.sandbox_process import BubblewrapStatus, ParentDeathPipe, SandboxFailed, StartLatch, StartMarker
from anycowork.sandbox.seccomp import filter_for, knows
from anycowork.sandbox.secrets.hidden_path_index import HiddenPathIndex
from anycowork.sandbox.secrets.key_file_index import KeyFileIndex
from anycowork.sandbox.secrets.masks import Mask, cover_arguments, mask_arguments
from anycowork.sandbox.secrets.secret_paths import SecretIndex
from anycowork.sandbox.toolchains import Toolchains
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import shown
from anycowork.workspace.reader_threads import run_uncancellable

_BASH = "/bin/bash"
MOST_COPIED = 512 << 20


class CommandNotStarted(SandboxFailed):
    """The sandbox could not be set up, so the command never ran."""


@mutable_value
class Launch:
    """How to start one command. Everything it needs is in `argv` and the descriptors; its environment is empty.

    `stdin` is at its end and not a device of the machine: root could change the mode of a device that it holds open.
    """

    argv: list[str]
    fds: tuple[int, ...]
    stdin: int
    status: BubblewrapStatus
    mark: StartMarker
    latch: StartLatch | None = None

    def has_begun(self) -> bool:
        """Tells once, after its end, whether the command itself ran."""
        return self.status.began and self.mark.is_set()

    def let_go(self) -> None:
        """Starts the command, if it was held back."""
        if self.latch is not None:
            self.latch.open()


class Sandbox:
    """Runs commands with this bubblewrap. `toolchains` is what commands may read besides the system, and may be replaced while running;
    `packages` are the package caches that they see.

    `layer` is what this machine supports. A workspace without overlay support (one with mounts in it) is copied instead, up to
    `most_copied` bytes.
    """

    def __init__(
        self,
        bwrap: str,
        staging: Staging,
        *,
        limits: CommandLimits | None = None,
        toolchains: Toolchains | None = None,
        packages: PackageCaches | None = None,
        layer: Layer = Layer.OVERLAY,
        most_copied: int = MOST_COPIED,
    ) -> None:
        self.staging = staging
        self.layer = layer
        self.most_copied = most_copied
        self._uncovered: set[str] = set()
        self.key_files = KeyFileIndex()
        self.hidden_paths = HiddenPathIndex()
        self._secrets = SecretIndex()
        self._volatile = VolatileLayers()
        self.limits = limits or CommandLimits()
        self._bwrap = bwrap
        self.toolchains = toolchains or Toolchains()
        self.packages = packages or PackageCaches()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self.measured: Callable[[float], None] = lambda seconds: None
        """Called with the seconds that each sandbox took to start. It must not raise."""

    def layer_for(self, root: str) -> Layer:
        return Layer.COPY if root in self._uncovered else self.layer

    def use_copies(self, root: str) -> None:
        """No overlay can be mounted over this workspace, so its next command begins with a copy."""
        self._uncovered.add(root)

    @asynccontextmanager
    async def begin(
        self, jail: Jail, layer: Layer | None = None, hidden: HiddenPathRules = NOTHING_HIDDEN
    ) -> AsyncIterator[Transaction]:
        """Starts the transaction of one command, which cannot read what is `hidden`; at the end, uncommitted changes are dropped.

        Raises: ToolFault, DeniedByRule if too much is hidden.
        """
        begun: list[Transaction] = []
        try:
            await run_uncancellable(lambda: self._begin(begun, jail, layer or self.layer_for(jail.root), hidden))
            yield begun[0]
        finally:
            for transaction in begun:
                await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._end, transaction))

    @asynccontextmanager
    async def read_only(self, root: str) -> AsyncIterator[Stage]:
        """For a program that changes nothing: needs no transaction and no lease. Raises: ToolFault."""
        stage = await asyncio.to_thread(self._open_stage, root, None)
        try:
            yield stage
        finally:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, remove_tree, stage.folder))

    def _begin(self, begun: list[Transaction], jail: Jail, layer: Layer, hidden: HiddenPathRules) -> None:
        """Appends the transaction as soon as there is something to end."""
        stage = self._open_stage(jail.root, layer)
        transaction = Transaction(stage, jail, self.staging, key_files=self.key_files, hidden_paths=self.hidden_paths)
        begun.append(transaction)
        if layer is Layer.COPY:
            transaction.copied = copy_workspace(
                jail.process_path, stage, most_bytes=self.most_copied, spare=self.limits.free_space
            )
        transaction.hide(hidden)

    def _open_stage(self, root: str, layer: Layer | None) -> Stage:
        """Also looks for credentials that came into the toolchains since the last command."""
        self._secrets.refresh(self.toolchains.scans)
        stage = self.staging.open(runner_for(root), layer)
        return self._volatile.prepared(stage, _as_runner(stage.runner)) if layer is Layer.OVERLAY else stage

    def _end(self, transaction: Transaction) -> None:
        transaction.end()
        self.staging.tidy()  # the command may have filled its cache

    def toolchains_for(self, root: str, runner: Runner) -> Toolchains:
        """Returns what a command in this workspace sees of the person's tools: what its user may read, without overlaps with the workspace."""
        toolchains = self.toolchains.beside(root)
        return toolchains.only(folder for folder in toolchains.folders if _can_reach(folder, runner))

    def view_of_tools(self, root: str, runner: Runner) -> tuple[VisiblePaths, dict[str, str]]:
        """Returns the person's tools as foreign code sees them, without credentials, and the variables that lead to them."""
        tools = self.toolchains_for(root, runner)
        hidden = tuple(self._secrets.inside(tools.scans))
        return VisiblePaths(tools.folders, hidden=hidden), {**tools.environment, "PATH": ":".join(tools.path)}

    @contextmanager
    def launch(
        self,
        command: str,
        root: str,
        stage: Stage,
        *,
        source: tuple[str, ...] = (),
        cache_kept: bool,
        environment: Mapping[str, str] | None = None,
        held_back: bool = False,
        stdin: bytes = b"",
        sight: VisiblePaths | None = None,
        masks: tuple[Mask, ...] = (),
        limits: CommandLimits | None = None,
    ) -> Iterator[Launch]:
        """The workspace is at `root`, and comes from the layers of `source` if those are other folders.

        With `held_back`, everything is set up, but the command waits for `let_go`. It cannot read `masks`. A command with its own `sight`
        is foreign code and shares no cache with the workspace's commands. `limits` are those of commands if it has none of its own.
        Raises: ToolFault.
        """
        begun, limits = time.monotonic(), limits or self.limits
        with ExitStack() as things:
            program = self._bwrap if _can_reach(self._bwrap, stage.runner) else self._copied()
            groups = things.enter_context(counted(limits))
            seccomp = things.enter_context(_pipe_with(filter_for(platform.machine(), unix_sockets=sight is None)))
            given_stdin = things.enter_context(_file_with(stdin) if stdin else _pipe_with(b""))
            status = things.enter_context(BubblewrapStatus.opened())
            latch = things.enter_context(StartLatch.made()) if held_back else None
            death_pipe = things.enter_context(ParentDeathPipe.made())
            mark = things.enter_context(StartMarker.made())
            cache = things.enter_context(self.staging.lent_cache(root, stage.runner)) if sight is None else None
            packages = (
                things.enter_context(self._packages(root, stage, writes_kept=cache_kept)) if sight is None else ()
            )
            tools = self.toolchains_for(root, stage.runner) if sight is None else Toolchains()
            around = SandboxView(
                root=root,
                source=source,
                stage=stage,
                cache=cache,
                cache_kept=cache_kept,
                toolchains=tools,
                packages=packages,
                hidden_tools=tuple(cover_arguments(self._hidden_in(tools, sight), stage)),
                environment=environment or {},
                sight=_seen_by(stage.runner, sight or VisiblePaths()),
                masks=tuple(mask_arguments(masks, stage, root)),
            )
            laid = _short_enough(overlays(around), root)
            descriptors = Descriptors(seccomp, status.write_end, latch.read_end if latch else None)
            sandbox_arguments = bubblewrap_arguments(program, around, limits, descriptors)
            shell = limited_shell(
                _BASH,
                limits,
                command,
                groups=groups,
                death_pipe=death_pipe.read_end,
                unneeded=status.read_end,
                begun=mark.write_end,
                check=mount_check(laid),
            )
            argv = [*_as_runner(stage.runner), *sandbox_arguments, *shell]
            fds = (*descriptors.all(), *groups, death_pipe.read_end, status.read_end, mark.write_end)
            status.on_start = lambda: self.measured(time.monotonic() - begun)
            yield Launch(argv, fds, given_stdin, status, mark, latch)

    def _hidden_in(self, tools: Toolchains, sight: VisiblePaths | None) -> list[str]:
        return list(sight.hidden) if sight else self._secrets.inside(tools.scans)

    @contextmanager
    def _packages(self, root: str, stage: Stage, *, writes_kept: bool) -> Iterator[tuple[PackageMount, ...]]:
        """Lends a command the person's package caches, below the workspace's own layer."""
        if not self.packages.found:
            yield ()
            return
        with self.staging.lent_packages(root, stage.runner) as layer:
            yield tuple(
                mount_packages(self.packages.found, root, stage, home=HOME, layer=layer, writes_kept=writes_kept)
            )

    def is_disk_nearly_full(self, stage: Stage) -> bool:
        """Tells whether the disk of the command's writes is nearly full, in bytes or files."""
        return self.has_no_room_in(stage.upper)

    def has_no_room_in(self, folder: Path) -> bool:
        """Tells whether the folder's disk is nearly full."""
        disk = os.statvfs(folder)
        free_files = min(self.limits.free_files, disk.f_files // 20)  # 0 where a file system does not count them
        return disk.f_bavail * disk.f_frsize < self.limits.free_space or disk.f_favail < free_files

    def trial(self) -> str | None:
        """Runs `true` like a command; returns None if that works, else what went wrong. Blocking."""
        if not knows(platform.machine()):
            return f"no filter of system calls is known for {platform.machine()}"
        with tempfile.TemporaryDirectory(prefix="anycowork-trial-") as root:
            stage: Stage | None = None
            try:
                stage = self.staging.open(runner_for(root), self.layer)
                with self.launch("echo ok > made", root, stage, cache_kept=False) as launch:
                    done = subprocess.run(
                        launch.argv,
                        stdin=launch.stdin,
                        pass_fds=launch.fds,
                        env={},
                        cwd="/",
                        capture_output=True,
                        timeout=10,
                        check=False,
                    )
                if done.returncode == 0 and (stage.upper / "made").is_file() and not Path(root, "made").exists():
                    return None
                return done.stderr.decode(errors="replace").strip() or f"it ended with {done.returncode}"
            except (OSError, ToolFault, subprocess.TimeoutExpired) as error:
                return os_reason(error, with_path=True)
            finally:
                if stage is not None:
                    remove_tree(stage.folder)
                    self.staging.forget_caches(root, stage.runner)

    def _copied(self) -> str:
        """Copies bubblewrap to a place that everyone can reach: a wheel may be in root's own folders."""
        if self._copy is None:
            self._copy = tempfile.TemporaryDirectory(prefix="anycowork-bwrap-")
            Path(self._copy.name).chmod(0o755)
            program_folder = Path(self._bwrap).parent
            # The wheel's program looks for its library two folders up, so the layout is kept.
            shutil.copytree(program_folder, Path(self._copy.name, program_folder.parent.name, program_folder.name))
            for libraries in program_folder.parent.parent.glob(f"{program_folder.parent.name}.libs"):
                shutil.copytree(libraries, Path(self._copy.name, libraries.name))
        program_folder = Path(self._bwrap)
        return str(
            Path(self._copy.name, program_folder.parent.parent.name, program_folder.parent.name, program_folder.name)
        )


def _as_runner(runner: Runner) -> list[str]:
    if runner.is_us:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise SandboxFailed(
            "A server that runs as root needs 'setpriv' (util-linux) to run commands as the workspace's owner. Install it, "
            "or start the server as that owner."
        )
    return [setpriv, "--reuid", str(runner.uid), "--regid", str(runner.gid), "--clear-groups", "--"]


@contextmanager
def _pipe_with(data: bytes) -> Iterator[int]:
    """Opens a pipe that contains these few bytes, then ends."""
    read_end, write_end = os.pipe()
    try:
        try:
            os.write(write_end, data)
        finally:
            os.close(write_end)
        yield read_end
    finally:
        os.close(read_end)


@contextmanager
def _file_with(data: bytes) -> Iterator[int]:
    """Opens a nameless file with this content, of any size: a pipe's capacity is limited."""
    fd = os.memfd_create("stdin")
    try:
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def _short_enough(laid: tuple[Overlay, ...], root: str) -> tuple[Overlay, ...]:
    """Raises: CommandNotStarted; then a private copy is tried, which needs no option string."""
    if all(overlay.fits() for overlay in laid):
        return laid
    raise CommandNotStarted(
        f"The paths of '{shown(root)}' and of the command's layer are too long for an overlay: together their mount options pass "
        f"{LONGEST_OPTIONS:,} bytes, and the kernel would cut them. Move the workspace to a shorter path."
    )


def _seen_by(runner: Runner, sight: VisiblePaths) -> VisiblePaths:
    for path in sight.paths:
        if not _can_reach(path, runner):
            raise SandboxFailed(
                f"'{path}' cannot be read by user {runner.uid}, to whom this workspace belongs and as whom the program would run. "
                "Let others read it, or run the server as that user."
            )
    if sight.home is not None and not runner.is_us:
        raise SandboxFailed(
            f"Its data folder belongs to the user that runs AnyCowork, and in this workspace the program runs as user {runner.uid}, to "
            "whom the workspace belongs. Run AnyCowork as that user, or let the program do without a data folder."
        )
    return sight


def _can_reach(path: str, runner: Runner) -> bool:
    """Tells whether the runner may reach and read it, by the modes of every folder on the way."""
    if runner.is_us:
        return Path(path).exists()
    end = Path(path)
    return _allows(end, runner, 0o5) and all(_allows(folder, runner, 0o1) for folder in end.parents)


def _allows(path: Path, runner: Runner, needed_bits: int) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    shift = 6 if status.st_uid == runner.uid else 3 if status.st_gid == runner.gid else 0
    return (status.st_mode >> shift) & needed_bits == needed_bits
