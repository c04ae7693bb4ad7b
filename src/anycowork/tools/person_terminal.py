"""What a person types for themselves in a workspace: one command, or a terminal. It is not a tool, so no model can call it.

The command has the rights, the home and the network of the server's user, because it is the person's own. It gets none of the server's
variables beyond an allow-list. Where bubblewrap works, it runs in its own process namespace, so that nothing of it survives it or the
server, and the server's data folder is empty for it. A terminal is a shell on a pseudo-terminal whose output is kept within bounds: when too much
is unread, the terminal is not read any further, and the kernel stops the program as it does before a slow screen.
"""

import asyncio
import codecs
import errno
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path

from anycowork.domain.errors import Conflict, ToolFault
from anycowork.domain.person_commands import CommandEnd, CommandResult
from anycowork.domain.values import value
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildProcess, ends_within, run_child, signal_group
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import working_folder
from anycowork.workspace.paths import WorkspacePath

MOST_OUTPUT = 1_000_000  # bytes
# What a person's programs need of their session. Anything else may be a key that was given to the server.
_OF_PERSON = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GNUPGHOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "VOLTA_HOME",
})  # fmt: skip
# Nobody can answer a prompt or page through text here.
_OWN = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_ON_A_TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
_ENDS = {
    ChildEnding.ITSELF: CommandEnd.EXITED,
    ChildEnding.TIMED_OUT: CommandEnd.TIMED_OUT,
    ChildEnding.TOO_MUCH_OUTPUT: CommandEnd.TOO_MUCH_OUTPUT,
    ChildEnding.DISK_FULL: CommandEnd.STOPPED,  # `must_stop` said so
}
SCROLLBACK = 512 * 1024  # bytes that a page gets again after a reload
MOST_UNREAD = 256 * 1024
MOST_UNWRITTEN = 256 * 1024
ALONE_SECONDS = 120.0  # without a page that reads it
_PIECE = 4096  # what the kernel hands out at once, and the size below which shown pieces are joined
_READS = 32  # in a row, before the loop turns to somebody else
_PAUSE = 0.004  # seconds between two rows of reads while much comes: more is read at once
_POLL_SECONDS = 0.25
_GRACE = 2.0
# The shell's session has no terminal until it opens one: then that is its own, and Ctrl-C reaches its programs.
_ON_TERMINAL = 'exec <"$0" >"$0" 2>&1 && exec "$@"'


class PersonShell:
    """`bubblewrap` is its path, None where it does not work. `environ` is the server's environment."""

    def __init__(self, *, bubblewrap: str | None, data_dir: Path, environ: Mapping[str, str], seconds: float) -> None:
        self._bubblewrap = bubblewrap
        self._data_dir = data_dir
        self._environ = environ
        self._seconds = seconds

    async def run(
        self, workspace: Folder, command: str, *, on_output: Callable[[str], None], is_stopped: Callable[[], bool]
    ) -> CommandResult:
        """Runs the command as the server's user, without the server's secrets, until it ends. Then none of its processes is left.

        `is_stopped` is asked while it runs. Raises: ToolFault if it cannot be started.
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        try:
            with workspace.jail.folder(WorkspacePath(())) as root:
                child = await run_child(
                    [*self.namespace(), find_shell(), "-c", "--", command],
                    cwd=working_folder(root, workspace.jail.root, WorkspacePath(())),
                    env=self.environment(),
                    bounds=ChildLimits(seconds=self._seconds, output=MOST_OUTPUT),
                    on_output=lambda piece: on_output(decoder.decode(piece)),
                    must_stop=is_stopped,
                )
        except OSError as error:
            raise ToolFault(f"The command could not be started ({error.strerror}).") from error
        how = CommandEnd.STOPPED if is_stopped() else _ENDS[child.how]
        code = child.exit_code if how is CommandEnd.EXITED else None
        return CommandResult(how, code, child.output.decode(errors="replace"), child.seconds)

    def namespace(self) -> list[str]:
        """Returns the words that give the command its own processes and an empty data folder; nothing else is changed for it."""
        if self._bubblewrap is None:
            return []
        return [
            *(self._bubblewrap, "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent"),
            *("--tmpfs", str(self._data_dir), "--"),
        ]

    def environment(self, *, has_terminal: bool = False) -> dict[str, str]:
        """Returns the variables of a person's command: those of their session, and none of the server's."""
        session_variables = {
            name: value for name, value in self._environ.items() if name in _OF_PERSON or name.startswith("LC_")
        }
        return {"PATH": os.defpath, **session_variables, **(_ON_A_TERMINAL if has_terminal else _OWN)}


def find_shell() -> str:
    """Returns the path of the person's shell. Raises: ToolFault if there is none."""
    shell = shutil.which("bash") or shutil.which("sh")
    if shell is None:
        raise ToolFault("There is no shell on this machine, so no command can be run.")
    return str(Path(shell).absolute())


@value
class TerminalSize:
    rows: int
    columns: int


class Scrollback:
    """What a terminal printed: the unread, and the newest of what was read. Pieces are kept as they came, so that none is copied again."""

    def __init__(self) -> None:
        self._read: deque[bytes] = deque()
        self._read_size = 0
        self._unread: deque[bytes] = deque()
        self.unread_size = 0

    def __len__(self) -> int:
        return self._read_size + self.unread_size

    def add(self, piece: bytes) -> None:
        self._unread.append(piece)
        self.unread_size += len(piece)

    def unread(self) -> bytes:
        return b"".join(self._unread)

    def was_read(self, size: int) -> None:
        """Keeps what was read for a later page, as far as there is room. `size` is that of an earlier `unread`."""
        self.unread_size -= size
        while size:
            piece = self._unread.popleft()
            size -= len(piece)
            if self._read and len(self._read[-1]) + len(piece) <= _PIECE:
                self._read[-1] += piece
            else:
                self._read.append(piece)
            self._read_size += len(piece)
        while self._read_size > SCROLLBACK:
            self._read_size -= len(self._read.popleft())

    def rewind(self) -> None:
        """Lets all that is still there be unread."""
        self._unread.extendleft(reversed(self._read))
        self.unread_size += self._read_size
        self._read.clear()
        self._read_size = 0


class PersonTerminal:
    def __init__(self, shell: PersonShell, size: TerminalSize, *, alone_seconds: float = ALONE_SECONDS) -> None:
        self._shell = shell
        self._size = size
        self._alone_seconds = alone_seconds
        self._master: int | None = None
        self._output = Scrollback()
        self._unwritten = bytearray()
        self._is_reading = False
        self._is_over = False
        self._must_end = False
        self._news = asyncio.Event()
        self._reader = 0  # the number of the page that reads now
        self._alone_since: float | None = time.monotonic()

    async def run(self, workspace: Folder, *, is_stopped: Callable[[], bool]) -> CommandResult:
        """Runs the shell until it ends, `is_stopped`, or nobody has read it for a while; then none of its processes is left.

        Raises: ToolFault if it cannot be started.
        """
        started = time.monotonic()
        master, slave = os.openpty()
        try:
            os.set_blocking(master, False)
            self._master = master
            self.resize(self._size)
            try:
                process = self._start_shell(workspace, slave)
            except OSError as error:
                raise ToolFault(f"The terminal could not be started ({error.strerror}).") from error
            finally:
                os.close(slave)
            self._read_on()
            self._write_on()
            stopped = False
            try:
                while not stopped and not await ends_within(process, _POLL_SECONDS):
                    stopped = is_stopped() or self._must_end or self._is_abandoned()
                if stopped:
                    signal_group(process.pid, signal.SIGHUP)
                    await ends_within(process, _GRACE)
            finally:
                signal_group(process.pid, signal.SIGKILL)
                await process.wait()
            self._read(most_reads=1024)
        finally:
            self._close()
        how = CommandEnd.STOPPED if stopped else CommandEnd.EXITED
        return CommandResult(how, None if stopped else process.exit_code, "", time.monotonic() - started)

    def end(self) -> None:
        """Lets it end soon, as when the person's access has ended."""
        self._must_end = True

    def resize(self, size: TerminalSize) -> None:
        """Tells the programs how large the screen is. A terminal that is over has no size."""
        self._size = size
        if self._master is not None:
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))

    def write(self, data: bytes) -> None:
        """Passes on what the person typed; what comes before the shell has started waits for it.

        Raises: Conflict if the terminal is over, or its program reads nothing.
        """
        if self._is_over:
            raise Conflict("This terminal has ended.")
        if len(self._unwritten) + len(data) > MOST_UNWRITTEN:
            raise Conflict("The program in the terminal does not read what is typed. Nothing more was passed on.")
        self._unwritten += data
        self._write_on()

    async def follow(self) -> AsyncGenerator[bytes, None]:
        """Yields the number of bytes that are repeated, as text; then what is still there of the output; then what comes, until the end.

        A second page that follows takes over: the first one's stream ends.
        """
        self._reader += 1
        number, self._alone_since = self._reader, None
        self._output.rewind()
        self._news.set()
        self._read_on()
        try:
            yield b"%d" % len(self._output)
            while self._reader == number:
                if piece := self._output.unread():
                    yield piece
                    self._output.was_read(len(piece) if self._reader == number else 0)
                    self._read_on()
                elif self._is_over:
                    return
                else:
                    self._news.clear()
                    await self._news.wait()
        finally:
            if self._reader == number:
                self._alone_since = time.monotonic()

    def _start_shell(self, workspace: Folder, slave: int) -> ChildProcess:
        shell = [*self._shell.namespace(), find_shell(), "-i"]
        with workspace.jail.folder(WorkspacePath(())) as root:
            return ChildProcess(
                ["/bin/sh", "-c", _ON_TERMINAL, os.ttyname(slave), *shell],
                stdin=subprocess.DEVNULL,
                stdout=slave,
                stderr=slave,
                cwd=working_folder(root, workspace.jail.root, WorkspacePath(())),
                env=self._shell.environment(has_terminal=True),
                pass_fds=(),
            )

    def _is_abandoned(self) -> bool:
        return self._alone_since is not None and time.monotonic() - self._alone_since > self._alone_seconds

    def _read_on(self) -> None:
        """Reads again if it was too much before."""
        if self._master is not None and not self._is_reading and self._output.unread_size < MOST_UNREAD:
            self._is_reading = True
            asyncio.get_running_loop().add_reader(self._master, self._on_readable)

    def _on_readable(self) -> None:
        count = self._read(most_reads=_READS)
        if count is None or self._output.unread_size >= MOST_UNREAD:
            self._stop_reading()
        elif count > 4096:
            self._stop_reading()
            asyncio.get_running_loop().call_later(_PAUSE, self._read_on)

    def _read(self, *, most_reads: int) -> int | None:
        """Reads what is there and returns how much; None at the end."""
        if self._master is None:
            return None
        pieces: list[bytes] = []
        is_open = True
        while is_open and len(pieces) < most_reads:
            try:
                pieces.append(os.read(self._master, _PIECE))
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                is_open = False  # every program has closed it
            else:
                is_open = bool(pieces[-1])
        if piece := b"".join(pieces):
            self._output.add(piece)
            self._news.set()
        return len(piece) if is_open else None

    def _stop_reading(self) -> None:
        if self._is_reading and self._master is not None:
            self._is_reading = False
            asyncio.get_running_loop().remove_reader(self._master)

    def _write_on(self) -> None:
        if self._master is None:
            return
        loop = asyncio.get_running_loop()
        try:
            if self._unwritten:
                count = os.write(self._master, self._unwritten[:4096])
                del self._unwritten[:count]
        except BlockingIOError:
            pass
        except OSError:
            self._unwritten.clear()  # its programs are gone
        if self._unwritten:
            loop.add_writer(self._master, self._write_on)
        else:
            loop.remove_writer(self._master)

    def _close(self) -> None:
        if self._master is not None:
            self._stop_reading()
            asyncio.get_running_loop().remove_writer(self._master)
            os.close(self._master)
            self._master = None
        self._is_over = True
        self._news.set()
