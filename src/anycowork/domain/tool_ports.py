"""Ports of tools: what a tool implements, what it is given, and what it prepares before it changes anything."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from typing import Protocol

from anycowork.domain.agents import AgentSpec, AgentTask
from anycowork.domain.model import SampledReply, SamplingPrompt
from anycowork.domain.network import Destination
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules, Workspace
from anycowork.domain.question import Question
from anycowork.domain.roles import Permission
from anycowork.domain.rules import ChangesDecision
from anycowork.domain.snapshots import ReplacedFile
from anycowork.domain.tools import Intent, Parameters, PathIntent, ToolResult, ToolSpec
from anycowork.domain.values import value


class CheckPrograms(Enum):
    """`PROJECT`: those of the project's own environment, such as `.venv` and `node_modules`, come first."""

    PROJECT = auto()
    USUAL = auto()


@value
class CheckSetup:
    """What a check needs to see the files as they are. `stale_bytecode` are folders that the run does not see: Python takes bytecode for
    new if a file was changed twice within a second. None: it sees no bytecode at all, and starts more slowly."""

    programs: CheckPrograms = CheckPrograms.PROJECT
    stale_bytecode: tuple[str, ...] | None = None


class CommitSession:
    """Makes the changes of a call durable whose tool learns only while running what it will change: `keep`, then `intend`, the effect,
    `finish`. This one records nothing, for tools that run outside a turn.

    `asks_at_commit` means that nobody was asked before the command ran. `held` are changes of this call that were now approved: the
    command is not run again.
    """

    held: Intent | None = None
    asks_at_commit: bool = False
    can_hold: bool = False

    def is_named(self, path: str) -> bool:
        """Whether the approved step of this call names the path."""
        return False

    async def check_changes(self, changes: Sequence[PathIntent]) -> ChangesDecision:
        """Applies the rules to the changed paths."""
        return ChangesDecision()

    async def keep(self, intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        """Saves, for undo, what the effect will replace: a stop during it leaves nothing to be finished. `replaced` are known contents of
        paths."""

    async def intend(self, intent: Intent) -> None:
        """Makes the intent durable before its effect."""

    def finish(self, left_alone: Sequence[str]) -> None:
        """All of it is done, but for the paths that were left alone because somebody else had changed them."""

    def hold(self, intent: Intent) -> None:
        """Leaves the changes waiting for an approval; only if `can_hold`."""


NO_COMMIT = CommitSession()


@value
class ToolContext:
    """What a tool may access, and what it needs from the turn: the files read in it (path → hash when read), the user's text, and
    whether to be `wary` of what a small model writes.

    `commit` makes changes durable. `named_network` are the destinations of the call that a standing rule names literally; `hidden` is
    what rules forbid to read.
    `history` returns a page of the chat for a worker that does not see it; the number is that of the message before which it ends.

    `ask` asks the person of the chat and waits for the answer; it returns None without one. It is None where nobody can be asked.
    `sample` has the chat's model answer a prompt of an MCP server, which the person has seen.
    `agents` are those that the turn may give tasks to, and `ask_agent` runs such a task to its end.
    `check` is set if the server runs a check.
    `worker` is the joined worker that the commands of this task run on, `worker_needs` the labels that it must offer,
    and `job_id` the task's job. `turn_id` is empty outside a turn.
    """

    workspace: Workspace
    permissions: frozenset[Permission]
    read: Mapping[str, str] = field(default_factory=dict)
    user_text: str = ""
    wary: bool = False
    progress: Callable[[str], None] | None = None
    commit: CommitSession = NO_COMMIT
    named_network: tuple[Destination, ...] = ()
    hidden: HiddenPathRules = NOTHING_HIDDEN
    history: Callable[[int | None], Awaitable[str]] | None = None
    ask: Callable[[Question], Awaitable[str | None]] | None = None
    sample: Callable[[SamplingPrompt], Awaitable[SampledReply]] | None = None
    agents: tuple[AgentSpec, ...] = ()
    ask_agent: Callable[[AgentTask], Awaitable[ToolResult]] | None = None
    check: CheckSetup | None = None
    worker: str | None = None
    worker_needs: tuple[str, ...] = ()
    job_id: str | None = None
    turn_id: str = ""


@value
class Prepared:
    """A call that was prepared without changing anything: the resource it accesses, what it would change, and the diff.

    `state` is a hash of what was inspected: an approval is bound to it. `others` are further resources, such as the target of a
    move, even if nothing there can be hashed.
    `touches` are the changed paths, with whole folders, if the intent lists only some of them; `inside` is all that such a folder holds.
    `network` are the only destinations that it may reach. `key_files` are key files that a program wants to read, from the root.
    """

    tool: str
    parameters: Parameters
    resource: str
    intent: Intent | None = None
    diff: str | None = None
    state: str = ""
    others: tuple[str, ...] = ()
    payload: object = None  # the tool's own, for its `run`
    touches: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    network: tuple[Destination, ...] = ()
    key_files: tuple[str, ...] = ()

    @property
    def touched(self) -> tuple[str, ...]:
        return self.touches or tuple(item.path for item in (self.intent.paths if self.intent else ()))


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...
    def problems(self, parameters: Parameters) -> list[str]:
        """Returns precisely what is wrong with these parameters; empty if they match the schema."""

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Inspect and compute without changing anything. Raises: ToolFault, OutsideWorkspace."""

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Execute the prepared call. Raises: ToolFault (StateChanged if the inspected state has changed).

        When cancelled, it kills its processes; a change that is already being written is finished first.
        """


class Toolbox(Protocol):
    def find(self, name: str) -> Tool | None: ...
    def specs(self) -> Sequence[ToolSpec]:
        """Returns the specs of all tools. The same object is returned while they do not change."""
