"""The Protocols that inner rooms are written against; adapters implement them and `app.py` introduces the two."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Protocol

from anycowork.domain.approvals import Approval, PlanRow, QuestionRow
from anycowork.domain.chats import Chat, ChatConfig, Turn, TurnState
from anycowork.domain.events import EventType
from anycowork.domain.journal import Change
from anycowork.domain.messages import Message
from anycowork.domain.network import Destination
from anycowork.domain.roles import Permission
from anycowork.domain.rules import ChangesDecision, Rule
from anycowork.domain.snapshots import Outlook, RecordedChange, Restore, Restored, Snapshot, Undo
from anycowork.domain.system_prompts import SystemPrompt
from anycowork.domain.tools import Call, Intent, Parameters, PathIntent, ToolResult, ToolSpec
from anycowork.domain.usage import ModelUsage
from anycowork.domain.values import value
from anycowork.domain.workflows import Run

# --- time


class Clock(Protocol):
    def now(self) -> str:
        """RFC 3339, UTC, microseconds."""

    def monotonic(self) -> float: ...

    def new_id(self) -> str:
        """UUIDv7."""


# --- the journal and the store


@value
class MessagePage:
    """`bodies` are the wire JSON of the messages, ascending; `next` is the cursor for the page beyond, or None."""

    bodies: tuple[bytes, ...]
    last_seq: int
    next: str | None


@value
class RecentMessages:
    """The end of a chat, ascending. `complete` if nothing came before."""

    messages: list[Message]
    complete: bool


@value
class UnfinishedText:
    message_id: str
    kind: EventType
    text: str


@value
class PastCall:
    """`resource` is what was shown to a person, if one was asked."""

    call: Call
    workspace: str
    resource: str | None


class Journal(Protocol):
    async def write(self, *changes: Change) -> None:
        """Returns when the changes, all of one chat, are durable: together, in one transaction. Their events are published then, in order.

        Raises: the error of an unmet requirement in a change; StorageFault if they could not be made durable.
        """

    def submit_change(self, *changes: Change) -> Awaitable[None]:
        """Begins to `write` them, for whoever goes on meanwhile. What comes back must be awaited some time: it says how it ended."""

    def say(self, chat_id: str, turn_id: str, message_id: str, kind: EventType, offset: int, text: str) -> None:
        """A delta: numbered and published at once, made durable in pieces (every 100 ms or 1 KB)."""

    def show(self, chat_id: str, turn_id: str, call_id: str, message_id: str, offset: int, text: str) -> None:
        """A delta of what a call prints: numbered and published, and not kept.

        Its message is still to come, and has all of it, unless the call is stopped.
        """


class Store(Protocol):
    """Reads. `None` where there is nothing; order is always by sequence."""

    async def chat(self, chat_id: str) -> Chat | None: ...
    async def config_of(self, chat_id: str) -> ChatConfig | None:
        """The role and the autonomy that the chat has now, among others."""

    async def turn(self, turn_id: str) -> Turn | None: ...
    async def turns_in(self, *states: TurnState) -> list[Turn]: ...
    async def current_turn(self, chat_id: str) -> Turn | None:
        """The chat's turn that has not ended."""

    async def newest_turn(self, chat_id: str) -> Turn | None:
        """The chat's last turn, ended or not."""

    async def history(self, chat_id: str) -> list[Message]:
        """Every message of the chat, ascending."""

    async def recent_history(self, chat_id: str, *, since: str) -> RecentMessages:
        """The newest messages, ascending, as many as a model could be shown, and in any case those since the message of this id."""

    async def first_messages(self, chat_id: str, limit: int) -> list[Message]:
        """The oldest ones, ascending."""

    async def message(self, chat_id: str, message_id: str) -> Message | None: ...
    async def calls(self, turn_id: str) -> list[Call]:
        """The turn's calls in the order they were issued."""

    async def approvals(self, chat_id: str, *, pending_only: bool = True) -> list[Approval]: ...
    async def approvals_of_call(self, call_id: str) -> list[Approval]:
        """Newest last."""

    async def past_calls(
        self, *, chat_id: str | None = None, workspace: str | None = None, limit: int
    ) -> list[PastCall]:
        """Newest first; of one chat, one workspace, or all."""

    async def question(self, message_id: str) -> QuestionRow | None: ...
    async def open_question(self, chat_id: str) -> QuestionRow | None: ...
    async def plan(self, message_id: str) -> PlanRow | None: ...
    async def approved_plans(self, chat_id: str) -> list[PlanRow]:
        """Oldest first."""

    async def turn_usage(self, chat_id: str, turn_id: str) -> Sequence[ModelUsage]:
        """What one turn has used, per model."""

    async def run(self, turn_id: str) -> Run | None:
        """The workflow's run that this turn is, if it is one."""

    async def unfinished_text(self, chat_id: str, turn_id: str) -> list[UnfinishedText]:
        """What was said in this turn of messages that never came, as far as it was persisted."""


class Rules(Protocol):
    """Standing rules. Writing returns when the rule is durable, and it holds for the next call."""

    async def add(self, rule: Rule) -> None: ...
    async def change(self, rule: Rule) -> None:
        """Raises: NotFound."""

    async def remove(self, rule_id: str) -> None:
        """Raises: NotFound."""

    async def find(self, rule_id: str) -> Rule | None: ...
    async def all(self) -> Sequence[Rule]:
        """Oldest first, the expired ones too."""

    async def for_call(self, chat_id: str, workspace: str) -> Sequence[Rule]:
        """Those that hold there now. The same object as long as they are the same."""


class SystemPrompts(Protocol):
    """The system prompts that people wrote, not the built-in one. Writing returns when it is durable."""

    async def all(self) -> Sequence[SystemPrompt]:
        """Oldest first."""

    async def find(self, prompt_id: str) -> SystemPrompt | None: ...
    async def add(self, *, name: str, content: str) -> SystemPrompt: ...
    async def change(self, prompt_id: str, *, name: str, content: str) -> SystemPrompt:
        """The next version. Raises: NotFound."""

    async def remove(self, prompt_id: str) -> None:
        """Raises: NotFound."""


class SnapshotRows(Protocol):
    """What is recorded of snapshots."""

    async def snapshot(self, chat_id: str, snapshot_id: str) -> Snapshot | None:
        """With its images. `closest_name` ones are nobody's to ask for."""

    async def snapshots_page(
        self, chat_id: str, *, before: int | None = None, limit: int
    ) -> tuple[list[Snapshot], int | None]:
        """The newest before this position, ascending, without images; and the position for the page of older ones."""

    async def changes_since(self, snapshot: Snapshot) -> list[RecordedChange]:
        """Every change in the snapshot's workspace, whichever chat, that came after it, oldest first: its own too if it was taken before it."""

    async def change_of(self, snapshot: Snapshot) -> RecordedChange | None: ...
    async def before_of_call(self, call_id: str) -> Snapshot | None: ...
    async def unfinished_restores(self) -> list[tuple[Snapshot, Snapshot]]:
        """Before and meant of each restore that was begun and never finished."""


@value
class SuppliedFile:
    """A file from the data folder or a workspace. `text` is None where it could not be read, and `fault` says why.

    `trusted` if a person trusted exactly this content (what lies in the data folder is the person's own); `changed` if they trusted
    another one. `text` is what a person is shown: characters that nobody would see in it are written out.
    """

    path: str
    text: str | None
    sha256: str = ""
    trusted: bool = False
    fault: str | None = None
    changed: bool = False


class WorkflowFiles(Protocol):
    """Definition files as they are now, sorted by name. Never through a link, never more than a bounded number and size."""

    async def of_data_folder(self) -> Sequence[SuppliedFile]: ...
    async def of_workspace(self, workspace: str) -> Sequence[SuppliedFile]:
        """Raises: BadWorkspace if it is gone."""


class InstructionFiles(Protocol):
    """The one file in which a workspace tells agents how to work there, as it is now. Read as definition files are."""

    async def instructions(self, workspace: str) -> SuppliedFile | None:
        """None if there is no such file."""


# --- hands


def names_nothing(path: str) -> bool:
    """Outside a plan no step names anything."""
    return False


@value
class Hidden:
    """What may not be read, so that nothing of it is told. `patterns` are the rules' own; `hides` decides, by the path from the root.

    What it `withholds` is not searched unless the call names that very file, and the result says so: key files that nobody allowed.
    """

    patterns: tuple[str, ...] = ()
    hides: Callable[[str], bool] = names_nothing
    withholds: Callable[[str], bool] = names_nothing


NOTHING_HIDDEN = Hidden()
# Names that no tree has, at several depths: a folder in which all of these are hidden is hidden as a whole.
ANYTHING_INSIDE = ("\x01", "\x01/\x01", "\x01/\x01/\x01/\x01/\x01")


class Workspace(Protocol):
    """One folder that tools work in. `root` is its real, absolute path."""

    @property
    def root(self) -> str: ...

    def file_hash(self, path: str) -> str | None:
        """SHA-256 of a regular file inside; None if there is none. Raises: OutsideWorkspace."""

    def overview(self, limit: int, hidden: Hidden = NOTHING_HIDDEN) -> str:
        """A short, stable list of the files inside, for the model, without what is hidden."""

    def clear_leftovers(self, path: str) -> None:
        """Removes what a change of this path left beside it when its process was killed. Only while nobody writes here."""


class Workspaces(Protocol):
    def open(self, root: str) -> Workspace:
        """Raises: BadWorkspace if it is gone or no folder."""

    def writing(self, root: str) -> AbstractAsyncContextManager[int]:
        """Waits until no one else writes in this workspace; yields the lease's epoch."""

    def roll_forward(self, root: str, intent: Intent) -> "RolledForward":
        """Finishes a commit that was intended and cut off. Blocking; under the lease.

        Raises: BadWorkspace if the folder is gone; ToolFault if the disk refuses.
        """

    def let_go(self, intent: Intent, *, keep: bool) -> str | None:
        """Ends the waiting of held changes without making them: removed, or kept aside for a person; then where. Blocking."""


@value
class RolledForward:
    """`conflicts` are the paths that were neither as they had been nor as meant: they are left as they are."""

    conflicts: tuple[str, ...] = ()


@value
class ToolContext:
    """What a tool may touch and what it needs to know of the turn: the files read in it (path → hash as read), the user's own words,
    and whether to be `wary` of what a small model writes.

    `intend` makes an intent durable before its effect, for tools that learn only while running what they will change;
    `named` says whether the approved step that covers this call names a path; `named_network` are the destinations of the call that a
    standing rule names literally; `hidden` is what rules keep from being read.

    For a command whose changes may need a person's word: `weigh` tells what rules say of the paths that it changed, `hold` leaves the
    changes waiting, `asks_at_commit` says that nobody was asked before, and `held` are those of this very call that were allowed now: it
    is not run again.
    """

    workspace: Workspace
    permissions: frozenset[Permission]
    read: Mapping[str, str] = field(default_factory=dict)
    user_text: str = ""
    wary: bool = False
    progress: Callable[[str], None] | None = None
    intend: Callable[[Intent], Awaitable[None]] | None = None
    named: Callable[[str], bool] = names_nothing
    named_network: tuple[Destination, ...] = ()
    weigh: Callable[[Sequence[PathIntent]], Awaitable[ChangesDecision]] | None = None
    hold: Callable[[Intent], None] | None = None
    asks_at_commit: bool = False
    held: Intent | None = None
    hidden: Hidden = NOTHING_HIDDEN


@value
class Prepared:
    """A call looked at, with nothing changed yet: the resource it touches, what it would change, and how that looks.

    `state` identifies what was looked at (a hash): an approval is bound to it. `others` are further places, as resources: where a
    file is moved to stands here even if nothing of it can be hashed.
    `touches` are the paths that it changes, folders whole, where the intent's own paths are only some of them.
    `network` is where it may go over the network, and nowhere else.
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

    @property
    def touched(self) -> tuple[str, ...]:
        return self.touches or tuple(item.path for item in (self.intent.paths if self.intent else ()))


class Tool(Protocol):
    spec: ToolSpec

    def problems(self, parameters: Parameters) -> list[str]:
        """What is wrong with these parameters, precisely; empty if they fit the schema."""

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Looks and computes, changes nothing. Raises: ToolFault, OutsideWorkspace."""

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Does what was prepared. Raises: ToolFault (StateChanged if what was looked at is gone).

        Cancelled, it kills what it runs; a change that is already on its way to the disk is finished first.
        """


class Toolbox(Protocol):
    def find(self, name: str) -> Tool | None: ...
    def specs(self) -> Sequence[ToolSpec]:
        """The same object as long as they are the same."""


class Snapshots(Protocol):
    """Keeps what a change touches, and brings it back. Only ever used by the holder of the workspace's lease."""

    async def before(self, cause: Call | Restore, workspace: Workspace, paths: Sequence[str]) -> Snapshot:
        """Images of these paths as they are now, folders whole, git's own left out; durable when this returns, not yet recorded.

        Raises: NotKept, OutsideWorkspace.
        """

    async def after(self, before: Snapshot, workspace: Workspace) -> Snapshot | None:
        """The same paths as they are now, and how they differ. None if nobody can look any more."""

    async def difference(self, snapshot: Snapshot) -> str | None:
        """The text of the difference that an `after` snapshot recorded; None if it is gone."""

    async def look(self, workspace: Workspace, undos: Sequence[Undo]) -> Outlook:
        """What bringing this back would do to the files as they are now. Raises: SnapshotDamaged."""

    def meant(self, before: Snapshot, undos: Sequence[Undo]) -> Snapshot:
        """What a restore is about to bring back, to be recorded with its `before`."""

    async def restore(self, workspace: Workspace, undos: Sequence[Undo]) -> Restored:
        """Brings it back, each file in one step; what is not as expected is left alone and told. Goes to its end even if cancelled."""
