"""execute_command: bash in the workspace's folder.

Not sandboxed yet: what it promises (bounds, no secrets in its environment, nothing left running) is said in `run_child`; what only
a sandbox can promise, it refuses to do.
"""

import asyncio
import codecs
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import assert_never

from pydantic import Field

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import CommandFailed, Forbidden, ToolFault, ToolTimedOut
from anycowork.domain.ports import Hands, Prepared
from anycowork.domain.roles import Permission
from anycowork.domain.tools import CallError, Intent, Parameters, Status, ToolResult
from anycowork.tools.built_in import BuiltIn, folder_of
from anycowork.tools.child import Bounds, Ended, Ending, run_child
from anycowork.tools.parameters import PlainText
from anycowork.workspace.jail import working_folder
from anycowork.workspace.paths import Place

LONGEST_TIMEOUT = 3600.0
MOST_OUTPUT = 10_000_000
_CHANGING = frozenset({Permission.CREATE_FILES, Permission.WRITE_FILES, Permission.DELETE_FILES})


class ExecuteCommandParameters(Boundary):
    command: PlainText = Field(min_length=1, max_length=100_000, description="the command line, as typed into bash")
    timeout: float | None = Field(None, gt=0, le=LONGEST_TIMEOUT, description="seconds until it is stopped")


class ExecuteCommand(BuiltIn[ExecuteCommandParameters]):
    name = "execute_command"
    category = "commands"
    description = "Run a command with bash in the workspace folder and get its output and exit code."
    permissions = frozenset({Permission.EXECUTE_COMMANDS})
    priority = 30
    model = ExecuteCommandParameters

    def __init__(self, *, timeout: float) -> None:
        super().__init__()
        self._timeout = timeout

    def look(self, wish: ExecuteCommandParameters, parameters: Parameters, hands: Hands) -> Prepared:
        _require_all_changes_allowed(hands)
        return Prepared(
            tool=self.name,
            parameters=parameters,
            resource=f"command:{wish.command}",
            intent=Intent(command=wish.command),
        )

    async def run(self, prepared: Prepared, hands: Hands) -> ToolResult:
        _require_all_changes_allowed(hands)
        wish = ExecuteCommandParameters.model_validate(prepared.parameters)
        seconds = wish.timeout or self._timeout
        jail = folder_of(hands).jail
        async with _private_home() as home:
            with jail.folder(Place(())) as root:
                ended = await run_child(
                    [_bash(), "--noprofile", "--norc", "-c", "--", wish.command],
                    cwd=working_folder(root, jail.root, Place(())),
                    env=_environment(home),
                    bounds=Bounds(seconds=seconds, output=MOST_OUTPUT),
                    on_output=_as_text(hands.progress),
                )
        return _result(ended, seconds)


def _require_all_changes_allowed(hands: Hands) -> None:
    """A command may do anything to files; without a sandbox that is only for those who may do anything to files."""
    missing = sorted(_CHANGING - hands.permissions)
    if missing:
        raise Forbidden(
            f"This role may run commands but not change files (it lacks {', '.join(missing)}), and only a sandbox could hold a "
            "command to that. Commands for this role come with the sandbox; a person can run it, or switch to Actor."
        )


@asynccontextmanager
async def _private_home() -> AsyncIterator[str]:
    home = await asyncio.to_thread(tempfile.mkdtemp, prefix="anycowork-home-")
    try:
        yield home
    finally:
        await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)


def _bash() -> str:
    found = shutil.which("bash")
    if found is None:
        raise ToolFault("There is no bash on this machine, so commands cannot be run. Install it and try again.")
    return str(Path(found).absolute())


def _environment(home: str) -> dict[str, str]:
    """Nothing of the server's own environment but where programs are: the rest may be secret."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}


def _as_text(progress: Callable[[str], None] | None) -> Callable[[bytes], None] | None:
    if progress is None:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def tell(piece: bytes) -> None:
        if text := decoder.decode(piece):
            progress(text)

    return tell


def _result(ended: Ended, seconds: float) -> ToolResult:
    output = ended.output.decode(errors="replace").replace("\0", "�")
    closing, error = _verdict(ended, seconds)
    lead = output if not output or output.endswith("\n") else output + "\n"
    return ToolResult(
        status=Status.OK if error is None else Status.ERROR,
        content=lead + closing,
        error=error,
        facts={"exit_code": ended.exit_code, "seconds": round(ended.seconds, 3)},
    )


def _verdict(ended: Ended, seconds: float) -> tuple[str, CallError | None]:
    match ended.how:
        case Ending.TIMED_OUT:
            says = (
                f"Stopped: it was still running after {seconds:g} seconds. Give a longer 'timeout', or make it do less."
            )
            return says, CallError.of(ToolTimedOut(says))
        case Ending.TOO_MUCH_OUTPUT:
            says = (
                f"Stopped: it printed more than {MOST_OUTPUT:,} bytes. Redirect its output into a file, or filter it."
            )
            return says, CallError.of(CommandFailed(says))
        case Ending.ITSELF:
            says = f"exit code {ended.exit_code}"
            return says, CallError.of(CommandFailed(f"The command ended with {says}.")) if ended.exit_code else None
        case _:
            assert_never(ended.how)
