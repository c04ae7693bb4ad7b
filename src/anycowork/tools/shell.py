"""execute_command: bash in the workspace, as a transaction in the sandbox.

It sees a layer of its own over the workspace. If it ends by itself, what it changed there is checked and committed together; else, or if
the check objects, nothing of it is kept. Where the machine gives no sandbox, see `Unsandboxed`.
"""

import asyncio
import codecs
from collections.abc import Callable
from dataclasses import replace

from pydantic import Field

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Refusal, ToolFault
from anycowork.domain.ports import Hands, Prepared
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Intent, Parameters, ToolResult
from anycowork.tools.built_in import BuiltIn, folder_of
from anycowork.tools.child import Bounds, Ended, Ending, run_child
from anycowork.tools.endings import Story, committed, dropped, left_alone, said
from anycowork.tools.parameters import PlainText
from anycowork.tools.unsandboxed import require_all_changes_allowed, run_unsandboxed
from anycowork.workspace.checking import may_change_nothing
from anycowork.workspace.delta import UnusableDelta
from anycowork.workspace.finishing import to_the_end
from anycowork.workspace.picture import picture
from anycowork.workspace.sandbox import Launch, Sandbox, SandboxFailed
from anycowork.workspace.transaction import Transaction

LONGEST_TIMEOUT = 3600.0
MOST_OUTPUT = 10_000_000


class ExecuteCommandParameters(Boundary):
    command: PlainText = Field(min_length=1, max_length=100_000, description="the command line, as typed into bash")
    timeout: float | None = Field(None, gt=0, le=LONGEST_TIMEOUT, description="seconds until it is stopped")


class ExecuteCommand(BuiltIn[ExecuteCommandParameters]):
    """`sandbox` None: this machine gives none, and commands run with the server's own rights, for those who may do anything."""

    name = "execute_command"
    category = "commands"
    description = "Run a command with bash in the workspace folder and get its output and exit code."
    permissions = frozenset({Permission.EXECUTE_COMMANDS})
    priority = 30
    model = ExecuteCommandParameters

    def __init__(self, *, timeout: float, sandbox: Sandbox | None) -> None:
        super().__init__()
        self.spec = replace(self.spec, contained=sandbox is not None)
        self._timeout = timeout
        self._sandbox = sandbox

    def look(self, wish: ExecuteCommandParameters, parameters: Parameters, hands: Hands) -> Prepared:
        if self._sandbox is None:
            require_all_changes_allowed(hands)
        return Prepared(
            tool=self.name,
            parameters=parameters,
            resource=f"command:{wish.command}",
            intent=Intent(command=wish.command, contained=self._sandbox is not None),
        )

    async def run(self, prepared: Prepared, hands: Hands) -> ToolResult:
        wish = ExecuteCommandParameters.model_validate(prepared.parameters)
        bounds = Bounds(seconds=wish.timeout or self._timeout, output=MOST_OUTPUT)
        on_output = _as_text(hands.progress)
        if self._sandbox is None:
            return said(await run_unsandboxed(wish.command, hands, bounds, on_output), bounds, sandbox="none")
        async with self._sandbox.begin(folder_of(hands).jail) as transaction:
            ended = await self._watched(self._sandbox, wish.command, transaction, hands, bounds, on_output)
            story = await _settled(transaction, wish.command, ended, hands)
        return said(ended, bounds, sandbox="full", story=story)

    async def _watched(
        self,
        sandbox: Sandbox,
        command: str,
        transaction: Transaction,
        hands: Hands,
        bounds: Bounds,
        on_output: Callable[[bytes], None] | None,
    ) -> Ended:
        """The command from its start until nothing of it is left. Raises: SandboxFailed."""
        kept = not may_change_nothing(hands.permissions)
        with sandbox.launch(command, transaction.jail.root, transaction.stage, cache_kept=kept) as launch:
            launch.status.watch()
            try:
                ended = await run_child(
                    launch.argv,
                    cwd="/",
                    env={},  # bubblewrap's own is readable from inside
                    bounds=bounds,
                    stdin=launch.stdin,
                    on_output=on_output,
                    pass_fds=launch.fds,
                    must_stop=lambda: sandbox.is_short_of_room(transaction.stage),
                )
            finally:
                await asyncio.shield(launch.status.all_gone())
            _require_begun(launch, ended)
            return ended


def _require_begun(launch: Launch, ended: Ended) -> None:
    if ended.how is Ending.ITSELF and not launch.status.began:
        why = ended.output.decode(errors="replace").strip()[-500:] or f"bubblewrap ended with {ended.exit_code}"
        raise SandboxFailed(
            f"The sandbox could not be set up, so the command did not run: {why}. `anycowork doctor` says what is missing; "
            "a workspace that holds other mounts cannot be used for commands."
        )


async def _settled(transaction: Transaction, command: str, ended: Ended, hands: Hands) -> Story:
    """Commit or drop; what happened, for the result."""
    if may_change_nothing(hands.permissions):
        return left_alone()
    if ended.how is not Ending.ITSELF:
        return dropped("What it had changed so far was dropped.")
    try:
        delta = await asyncio.to_thread(transaction.look)
    except UnusableDelta as unusable:
        return dropped(unusable.message, code=unusable.code)
    objection = await asyncio.to_thread(transaction.objection, hands.permissions, hands.named)
    if objection is not None:
        return dropped(objection.says, code=objection.why.value, paths=objection.paths)
    if not delta:
        return committed(delta, None, ())
    drawn = await asyncio.to_thread(picture, delta, transaction.stage.upper, transaction.jail)
    intent = await asyncio.to_thread(transaction.intent, command)
    transaction.pledged = True
    if hands.intend is not None:
        try:
            await hands.intend(intent)
        except (ToolFault, Refusal):
            transaction.pledged = False  # refused before it was written down, so nobody will ask for the stage
            raise
    applied = await to_the_end(transaction.commit)
    return committed(delta, drawn, tuple(applied.conflicts))


def _as_text(progress: Callable[[str], None] | None) -> Callable[[bytes], None] | None:
    if progress is None:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def tell(piece: bytes) -> None:
        if text := decoder.decode(piece):
            progress(text)

    return tell
