"""Ports of tools: what a tool implements, what it is given, and what it prepares before it changes anything."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from anycowork.domain.model import SampledReply, SamplingPrompt
from anycowork.domain.network import Destination
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules, Workspace, names_nothing
from anycowork.domain.question import Question
from anycowork.domain.roles import Permission
from anycowork.domain.rules import ChangesDecision
from anycowork.domain.snapshots import ReplacedFile
from anycowork.domain.tools import Intent, Parameters, PathIntent, ToolResult, ToolSpec
from anycowork.domain.values import value

Intend = Callable[[Intent, Mapping[str, ReplacedFile]], Awaitable[None]]
"""Makes an intent durable before its effect. The files are known contents of paths that it replaces, by path."""


@value
class ToolContext:
    """What a tool may access, and what it needs from the turn: the files read in it (path → hash when read), the user's text, and
    whether to be `wary` of what a small model writes.

    `intend` makes an intent durable before its effect, for tools that learn only while running what they will change; `keep` saves
    before that, for undo, what the effect will replace: a stop during it leaves nothing to be finished; `committed` is told when all of
    it is done, with the paths that were left alone because somebody else had changed them;
    `named` returns whether the approved step of this call names a path; `named_network` are the destinations of the call that a
    standing rule names literally; `hidden` is what rules forbid to read.

    For a command whose changes may need an approval: `check_changes` applies the rules to the changed paths, `hold` leaves the changes
    waiting, `asks_at_commit` means that nobody was asked before, and `held` are changes of this call that were now approved: the
    command is not run again.
    `history` returns a page of the chat for a worker that does not see it; the number is that of the message before which it ends.

    `ask` asks the person of the chat and waits for the answer; it returns None without one. It is None where nobody can be asked.
    `sample` has the chat's model answer a prompt of an MCP server, which the person has seen.
    """

    workspace: Workspace
    permissions: frozenset[Permission]
    read: Mapping[str, str] = field(default_factory=dict)
    user_text: str = ""
    wary: bool = False
    progress: Callable[[str], None] | None = None
    keep: Intend | None = None
    intend: Intend | None = None
    committed: Callable[[Sequence[str]], None] | None = None
    named: Callable[[str], bool] = names_nothing
    named_network: tuple[Destination, ...] = ()
    check_changes: Callable[[Sequence[PathIntent]], Awaitable[ChangesDecision]] | None = None
    hold: Callable[[Intent], None] | None = None
    asks_at_commit: bool = False
    held: Intent | None = None
    hidden: HiddenPathRules = NOTHING_HIDDEN
    history: Callable[[int | None], Awaitable[str]] | None = None
    ask: Callable[[Question], Awaitable[str | None]] | None = None
    sample: Callable[[SamplingPrompt], Awaitable[SampledReply]] | None = None


@value
class Prepared:
    """A call that was prepared without changing anything: the resource it accesses, what it would change, and the diff.

    `state` is a hash of what was inspected: an approval is bound to it. `others` are further resources, such as the target of a
    move, even if nothing there can be hashed.
    `touches` are the changed paths, with whole folders, if the intent lists only some of them.
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
    network: tuple[Destination, ...] = ()
    key_files: tuple[str, ...] = ()

    @property
    def touched(self) -> tuple[str, ...]:
        return self.touches or tuple(item.path for item in (self.intent.paths if self.intent else ()))


class Tool(Protocol):
    spec: ToolSpec

    def problems(self, parameters: Parameters) -> list[str]:
        """Return precisely what is wrong with these parameters; empty if they match the schema."""

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Inspect and compute without changing anything. Raises: ToolFault, OutsideWorkspace."""

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Execute the prepared call. Raises: ToolFault (StateChanged if the inspected state has changed).

        When cancelled, it kills its processes; a change that is already being written is finished first.
        """


class Toolbox(Protocol):
    def find(self, name: str) -> Tool | None: ...
    def specs(self) -> Sequence[ToolSpec]:
        """Return the specs of all tools. The same object is returned while they do not change."""
