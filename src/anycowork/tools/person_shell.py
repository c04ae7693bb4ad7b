"""Runs what a person types for themselves in a workspace. It is no tool: the toolbox does not hold it, so no model can call it.

The command has the rights, the home and the network of the server's user, because it is the person's own. It gets none of the server's
variables beyond an allow-list. Where bubblewrap works, it runs in its own process namespace, so that nothing of it survives it or the
server, and the server's data folder is empty for it.
"""

import codecs
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.person_commands import CommandEnd, CommandResult
from anycowork.tools.child_process import ChildEnding, ChildLimits, run_child
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
        """Run the command as the server's user, without the server's secrets, until it ends. Then none of its processes is left.

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
