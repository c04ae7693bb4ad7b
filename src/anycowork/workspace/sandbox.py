"""A command as a transaction: its own view of the machine, its writes in a layer of their own, then committed together or dropped.

What it runs in is `bwrap.py` and `seccomp.py`, what it may use up `limits.py`, where its writes wait `stage.py`.
Starting the process and watching its bounds is the tool's affair.
"""

import asyncio
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.workspace.bwrap import Around, bwrap_words
from anycowork.workspace.jail import Jail
from anycowork.workspace.limits import CommandLimits, counted, limited_shell
from anycowork.workspace.seccomp import filter_for, knows
from anycowork.workspace.stage import Runner, Stage, Staging, remove_tree, runner_for
from anycowork.workspace.transaction import Transaction

_BASH = "/bin/bash"
_SECONDS_TO_DIE = 10.0


class SandboxFailed(ToolFault):
    """The sandbox could not be set up, so the command never ran."""

    code = "sandbox_failed"


@dataclass(slots=True)
class Launch:
    """How to start one command. Everything it needs is in `argv` and the descriptors; its environment is empty.

    `stdin` ends at once and is no device of the machine's: root could change the mode of one that it holds open.
    """

    argv: list[str]
    fds: tuple[int, ...]
    stdin: int
    status: "Status"


class Sandbox:
    """Runs on this machine with this bubblewrap. `toolchains` are folders that commands may read besides the system's."""

    def __init__(
        self,
        bwrap: str,
        staging: Staging,
        *,
        limits: CommandLimits | None = None,
        toolchains: Sequence[str] = (),
    ) -> None:
        self.staging = staging
        self.limits = limits or CommandLimits()
        self._bwrap = bwrap
        self._toolchains = tuple(toolchains)
        self._copy: tempfile.TemporaryDirectory[str] | None = None

    @asynccontextmanager
    async def begin(self, jail: Jail) -> AsyncIterator[Transaction]:
        """The transaction of one command; at the end, what was not committed is dropped. Raises: ToolFault."""
        stage = await asyncio.to_thread(lambda: self.staging.open(runner_for(jail.root)))
        transaction = Transaction(stage, jail, self.staging)
        try:
            yield transaction
        finally:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, transaction.end))

    @contextmanager
    def launch(self, command: str, root: str, stage: Stage, *, cache_kept: bool) -> Iterator[Launch]:
        """Raises: ToolFault."""
        with ExitStack() as things:
            program = self._bwrap if _can_reach(self._bwrap, stage.runner) else self._copied()
            prefix = things.enter_context(counted(stage.id, self.limits))
            seccomp = things.enter_context(_pipe_with(filter_for(platform.machine())))
            stdin = things.enter_context(_pipe_with(b""))
            status = things.enter_context(Status.opened())
            around = Around(
                root=root,
                stage=stage,
                cache=self.staging.cache(root, stage.runner),
                cache_kept=cache_kept,
                toolchains=tuple(place for place in self._toolchains if _can_reach(place, stage.runner)),
            )
            words = bwrap_words(program, around, self.limits, seccomp_fd=seccomp, status_fd=status.write_end)
            argv = [*prefix, *_as_runner(stage.runner), *words, *limited_shell(_BASH, self.limits, command)]
            yield Launch(argv, (seccomp, status.write_end), stdin, status)

    def is_short_of_room(self, stage: Stage) -> bool:
        """Whether the disk that takes the command's writes is nearly full."""
        return shutil.disk_usage(stage.upper).free < self.limits.free_space

    def trial(self) -> str | None:
        """Runs `true` as commands are run; None if that works, else what went wrong. Blocking."""
        if not knows(platform.machine()):
            return f"no filter of system calls is known for {platform.machine()}"
        with tempfile.TemporaryDirectory(prefix="anycowork-trial-") as root:
            stage: Stage | None = None
            try:
                stage = self.staging.open(runner_for(root))
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
                return str(error)
            finally:
                if stage is not None:
                    remove_tree(stage.folder)
                    remove_tree(self.staging.cache(root, stage.runner))

    def _copied(self) -> str:
        """A copy of bubblewrap that everyone can reach: a wheel may lie in root's own folders."""
        if self._copy is None:
            self._copy = tempfile.TemporaryDirectory(prefix="anycowork-bwrap-")
            Path(self._copy.name).chmod(0o755)
            here = Path(self._bwrap).parent
            # The wheel's program looks for its library two folders up: the same shape keeps it findable.
            shutil.copytree(here, Path(self._copy.name, here.parent.name, here.name))
            for libraries in here.parent.parent.glob(f"{here.parent.name}.libs"):
                shutil.copytree(libraries, Path(self._copy.name, libraries.name))
        here = Path(self._bwrap)
        return str(Path(self._copy.name, here.parent.parent.name, here.parent.name, here.name))


@dataclass(slots=True)
class Status:
    """What bubblewrap tells of itself: the process that all others of the command die with, and whether the command began."""

    read_end: int
    write_end: int
    began: bool = False
    _told: bytearray = field(default_factory=bytearray)
    _init: int | None = None

    @classmethod
    @contextmanager
    def opened(cls) -> "Iterator[Status]":
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        status = cls(read_end, write_end)
        try:
            yield status
        finally:
            status.close()

    def watch(self) -> None:
        """From now on, on the running loop: the process is held as soon as it is named, before its number can be given again."""
        asyncio.get_running_loop().add_reader(self.read_end, self._take)

    async def all_gone(self) -> None:
        """Returns when no process of the command is left. Raises: SandboxFailed if they will not die."""
        self._take()
        if self._init is None:
            return
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(self._init, ended.set)
        try:
            async with asyncio.timeout(_SECONDS_TO_DIE):
                await ended.wait()
        except TimeoutError:
            raise SandboxFailed("Processes of the command could not be ended, so its changes were dropped.") from None
        finally:
            loop.remove_reader(self._init)

    def close(self) -> None:
        try:
            asyncio.get_running_loop().remove_reader(self.read_end)
        except RuntimeError:
            pass  # tried out without a loop
        for fd in (self.read_end, self.write_end, self._init):
            if fd is not None:
                os.close(fd)

    def _take(self) -> None:
        while True:
            try:
                piece = os.read(self.read_end, 4096)
            except BlockingIOError:
                break
            if not piece:
                break
            self._told += piece
        for line in self._told.split(b"\n"):
            self._learn(bytes(line))

    def _learn(self, line: bytes) -> None:
        try:
            told = json.loads(line)
        except ValueError:
            return  # empty, or not whole yet
        if "exit-code" in told:
            self.began = True
        if "child-pid" in told and self._init is None:
            try:
                self._init = os.pidfd_open(told["child-pid"])
            except ProcessLookupError:
                pass  # over already


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
    """A pipe to read these few bytes from, and then its end."""
    read_end, write_end = os.pipe()
    try:
        try:
            os.write(write_end, data)
        finally:
            os.close(write_end)
        yield read_end
    finally:
        os.close(read_end)


def _can_reach(path: str, runner: Runner) -> bool:
    """Whether the runner may go there and read it, by the modes of every folder on the way."""
    if runner.is_us:
        return Path(path).exists()
    end = Path(path)
    return _allows(end, runner, 0o5) and all(_allows(folder, runner, 0o1) for folder in end.parents)


def _allows(place: Path, runner: Runner, wanted: int) -> bool:
    try:
        found = place.stat()
    except OSError:
        return False
    shift = 6 if found.st_uid == runner.uid else 3 if found.st_gid == runner.gid else 0
    return (found.st_mode >> shift) & wanted == wanted
