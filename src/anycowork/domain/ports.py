"""The ports: Protocols that inner packages depend on. Adapters implement them; `app.py` wires both together."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from anycowork.domain.approvals import Approval, DecidedCall, PlanRow, QuestionRow
from anycowork.domain.chats import Chat, ChatConfig, Turn, TurnState
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.journal import Change
from anycowork.domain.message_queue import QueuedMessage
from anycowork.domain.messages import Message
from anycowork.domain.rules import Rule
from anycowork.domain.system_prompts import SystemPrompt
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.tools import Call, Intent
from anycowork.domain.usage import ModelUsage, TurnUsage
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
    """`bodies` are the messages as wire JSON, ascending; `next` is the cursor for the next page, or None."""

    bodies: tuple[bytes, ...]
    last_seq: int
    next: str | None


@value
class RecentMessages:
    """The newest messages of a chat, ascending. `complete` if there are no older ones."""

    messages: list[Message]
    complete: bool


@value
class UnfinishedText:
    message_id: str
    kind: EventType
    text: str


@value
class PastCall:
    """A recorded call. `resource` is what a person was shown, if one was asked."""

    call: Call
    workspace: str
    resource: str | None


class Journal(Protocol):
    async def write(self, *changes: Change) -> None:
        """Write the changes, all of one chat, in one transaction; return when they are durable. Then their events are published in order.

        Raises: the error of an unmet requirement in a change; StorageFault if they could not be made durable.
        """

    def submit_change(self, *changes: Change) -> Awaitable[None]:
        """Start to `write` without waiting. The caller must await the result at some time, because it raises the errors."""

    def publish_delta(
        self, chat_id: str, turn_id: str, message_id: str, kind: EventType, offset: int, text: str
    ) -> None:
        """Publish a delta at once; it becomes durable in batches (every 100 ms or 1 KB)."""

    def show(self, chat_id: str, turn_id: str | None, call_id: str, message_id: str, offset: int, text: str) -> None:
        """Publish a delta of a call's output, or of a person's own command, which has no turn; it is not stored.

        The message that follows contains the whole output, unless the call is stopped. Readers that join before it get what was
        published so far.
        """

    def printed_by(self, chat_id: str, call_id: str) -> str:
        """Return the published output of a call that still runs; empty where there is none, and after a restart."""

    def drop_output(self, chat_id: str, message_id: str) -> None:
        """Forget published output whose message will not follow."""

    def show_event(self, chat_id: str, event: NewEvent) -> None:
        """Publish an event that is not stored."""


class Store(Protocol):
    """Reads from the store. Returns `None` for what does not exist; lists are ordered by sequence."""

    async def chat(self, chat_id: str) -> Chat | None: ...
    async def config_of(self, chat_id: str) -> ChatConfig | None:
        """Return the chat's current config, with its role and autonomy."""

    async def turn(self, turn_id: str) -> Turn | None: ...
    async def turns_in(self, *states: TurnState) -> list[Turn]: ...
    async def current_turn(self, chat_id: str) -> Turn | None:
        """Return the chat's newest turn that has not ended."""

    async def current_turns(self, chat_id: str) -> list[Turn]:
        """Return every turn of the chat that has not ended, oldest first: several if tasks of a job run side by side."""

    async def newest_turn(self, chat_id: str) -> Turn | None:
        """The chat's last turn, ended or not."""

    async def history(self, chat_id: str) -> list[Message]:
        """Return every message of the chat, ascending."""

    def message_pages(self, chat_id: str, *, up_to: int) -> AsyncIterator[list[Message]]:
        """Yield every message up to this number, ascending, in pages of bounded size."""

    async def recent_history(
        self, chat_id: str, *, since: str, until: Callable[[Message], bool] | None = None
    ) -> RecentMessages:
        """Return the newest messages outside tasks, ascending: as many as a model could be shown, and at least those since the message
        with this id.

        `until` is asked about each message, newest first; the one for which it is true is the oldest that is read."""

    async def messages_since(self, chat_id: str, message_id: str) -> list[Message]:
        """Return this message and all newer ones, ascending."""

    async def first_messages(self, chat_id: str, limit: int) -> list[Message]:
        """Return the oldest messages, ascending."""

    async def message(self, chat_id: str, message_id: str) -> Message | None: ...
    async def calls(self, turn_id: str) -> list[Call]:
        """Return the turn's calls in the order in which they were issued."""

    async def approvals(self, chat_id: str, *, pending_only: bool = True) -> list[Approval]: ...
    async def approvals_of_call(self, call_id: str) -> list[Approval]:
        """Newest last."""

    async def decided_in_waiting_batches(self, chat_id: str) -> dict[str, DecidedCall]:
        """Return what a person decided of calls whose batch still waits for other decisions, by call."""

    async def seconds_waited(self, chat_id: str) -> dict[str, float]:
        """Return how long each call of the chat waited for a person's decision, by call."""

    async def past_calls(
        self, *, chat_id: str | None = None, workspace: str | None = None, limit: int
    ) -> list[PastCall]:
        """Return calls of one chat, one workspace, or all; newest first."""

    async def question(self, message_id: str) -> QuestionRow | None: ...
    async def open_question(self, chat_id: str, *, turn_id: str | None = None) -> QuestionRow | None:
        """Return an open question of the chat, or of this turn."""

    async def plan(self, message_id: str) -> PlanRow | None: ...
    async def approved_plans(self, chat_id: str) -> list[PlanRow]:
        """Oldest first."""

    async def turn_usage(self, chat_id: str, turn_id: str) -> Sequence[ModelUsage]:
        """Return the usage of one turn, per model."""

    async def run(self, turn_id: str) -> Run | None:
        """Return the workflow run of this turn, if there is one."""

    async def job(self, job_id: str, *, with_plan: bool = True) -> Job | None:
        """A job that was read without its plan, which may be large, is written without changing the stored plan."""

    async def jobs_page(
        self, *, chat_id: str | None = None, limit: int, before: str | None = None
    ) -> tuple[list[Job], str | None]:
        """Newest first, without their plans, and the cursor for the page beyond."""

    async def jobs_in(self, *states: JobStatus, chat_id: str | None = None) -> list[Job]:
        """Oldest first, without their plans."""

    async def completed_requests(self, workspace: str, *, limit: int, longest: int) -> list[tuple[str, str]]:
        """Return ids and the first characters of the requests of completed jobs in this workspace, newest first; no forgotten ones."""

    async def tasks(self, job_id: str) -> list[JobTask]:
        """In the order of the plan."""

    async def task(self, job_id: str, task_id: str) -> JobTask | None: ...
    async def tasks_since(self, job_id: str, seq: int) -> tuple[list[JobTask], int]:
        """Return the tasks that changed after the change with this number, and the number of the newest change."""

    async def job_turns(self, job_id: str, task_id: str | None) -> list[Turn]:
        """Those that worked on the task, or, without one, that planned or closed the job; oldest first."""

    async def tasks_page(self, job_id: str, *, after: str | None = None, limit: int) -> list[JobTask]:
        """Return the tasks behind this one, in the order of the plan."""

    async def task_counts(self, job_id: str) -> Mapping[TaskStatus, int]:
        """Return how many tasks of the job have each status."""

    async def job_usage(self, job_id: str, *, task_ids: Collection[str] | None = None) -> list[TurnUsage]:
        """Return what the turns on each task have used so far, of all tasks or of these; of turns without a task under None."""

    async def whole_job_usage(self, job_id: str) -> TurnUsage:
        """Return what all turns of the job have used so far, together."""

    async def queued_messages(self, chat_id: str) -> list[QueuedMessage]:
        """In the order in which they are sent."""

    async def chats_with_queue(self) -> list[str]: ...

    async def unfinished_text(self, chat_id: str, turn_id: str) -> list[UnfinishedText]:
        """Return the persisted deltas of this turn's messages that were never completed."""


class Rules(Protocol):
    """Stores standing rules. Writes return when the rule is durable; it applies from the next call on."""

    async def add(self, rule: Rule) -> None: ...
    async def change(self, rule: Rule) -> None:
        """Raises: NotFound."""

    async def remove(self, rule_id: str) -> None:
        """Raises: NotFound."""

    async def find(self, rule_id: str) -> Rule | None: ...
    async def all(self) -> Sequence[Rule]:
        """Return all rules, oldest first, including expired ones."""

    async def for_call(self, chat_id: str, workspace: str) -> Sequence[Rule]:
        """Return the rules that apply there now. The same object is returned while they do not change."""


class SystemPrompts(Protocol):
    """Stores the system prompts of users, not the built-in one. Writes return when they are durable."""

    async def all(self) -> Sequence[SystemPrompt]:
        """Oldest first."""

    async def find(self, prompt_id: str) -> SystemPrompt | None: ...
    async def add(self, *, name: str, content: str) -> SystemPrompt: ...
    async def change(self, prompt_id: str, *, name: str, content: str) -> SystemPrompt:
        """Store the next version. Raises: NotFound."""

    async def remove(self, prompt_id: str) -> None:
        """Raises: NotFound."""


@value
class SuppliedFile:
    """A file from the data folder or a workspace. `text` is None if it could not be read, and `fault` says why.

    `trusted`: a person trusted exactly this content, or it is in the data folder, which belongs to the person. `changed`: the person
    trusted another content. `text` is what a person is shown: invisible characters are escaped.
    """

    path: str
    text: str | None
    sha256: str = ""
    trusted: bool = False
    fault: str | None = None
    changed: bool = False


class WorkflowFiles(Protocol):
    """Reads the current workflow definition files, sorted by name. Never follows links; number and size are limited."""

    async def of_data_folder(self) -> Sequence[SuppliedFile]: ...
    async def of_workspace(self, workspace: str) -> Sequence[SuppliedFile]:
        """Raises: BadWorkspace if it is gone."""


class InstructionFiles(Protocol):
    """Reads the current instructions file of a workspace, under the same limits as definition files."""

    async def instructions(self, workspace: str) -> SuppliedFile | None:
        """Return the instructions; None if there is no such file."""


# --- workspaces


def names_nothing(path: str) -> bool:
    """Return False: outside a plan no step names any path."""
    return False


@value
class HiddenPathRules:
    """Paths that may not be read or revealed. `patterns` come from the rules; `hides` decides, by the path from the root.

    Files that it `withholds` (key files that no rule allows) are not searched unless the call names exactly that file, and programs in
    the sandbox cannot read them; the result says so.
    """

    patterns: tuple[str, ...] = ()
    hides: Callable[[str], bool] = names_nothing
    withholds: Callable[[str], bool] = names_nothing


NOTHING_HIDDEN = HiddenPathRules()
# Names that do not exist, at several depths: if all of these are hidden in a folder, the whole folder is hidden.
ANYTHING_INSIDE = ("\x01", "\x01/\x01", "\x01/\x01/\x01/\x01/\x01")


class Workspace(Protocol):
    """A folder that tools work in. `root` is its real, absolute path.

    A private copy has the workspace that it was copied from as its `origin`: rules, prompts and commands know it by that path.
    """

    @property
    def root(self) -> str: ...
    @property
    def origin(self) -> str: ...

    def file_hash(self, path: str) -> str | None:
        """Return the SHA-256 of a regular file inside; None if there is none. Raises: OutsideWorkspace."""

    def overview(self, limit: int, hidden: HiddenPathRules = NOTHING_HIDDEN) -> str:
        """Return a short, stable list of the files inside, for the model, without hidden ones."""

    def clear_leftovers(self, path: str) -> None:
        """Remove temporary files that a killed process left beside this path. Only while nobody writes in the workspace."""


class Workspaces(Protocol):
    def open(self, root: str) -> Workspace:
        """Open a workspace. Raises: BadWorkspace if it is gone or not a folder."""

    def writing(self, root: str) -> AbstractAsyncContextManager[int]:
        """Wait for the workspace's write lease; yield its epoch."""

    def roll_forward(self, root: str, intent: Intent) -> "RolledForward":
        """Finish an interrupted commit. Blocking; under the lease.

        Raises: BadWorkspace if the folder is gone; ToolFault if the disk refuses.
        """

    def let_go(self, intent: Intent, *, keep: bool) -> str | None:
        """Discard held changes. With `keep` they are saved for a person, and the folder is returned. Blocking."""


class TaskWorkspaces(Protocol):
    """The workspaces of a job's writing tasks, each apart from the others: a layer over the workspace that it starts from, or a copy of it.

    `Workspaces.open` opens one like any other workspace.
    """

    async def create(self, root: str) -> str:
        """Start from a workspace, or from a task's own; return the new one's root. It stays until it is removed. Raises: ToolFault,
        BadWorkspace."""

    async def remove(self, copy: str) -> None:
        """Remove a copy with everything in it; one that is gone already is no fault."""

    async def has_commits(self, copy: str) -> bool:
        """Return whether commits were made with git in the copy. They cannot be merged like files."""

    async def keep_only(self, needed: Collection[str]) -> None:
        """Remove all other copies, which an earlier server left."""


class LayerVersions(Protocol):
    """Keeps what the running tasks of jobs see of a workspace, before it changes. Only used by the holder of the workspace's lease.

    Layers of other processes on the same database are kept too. One that cannot keep it shows the new version: nobody's work waits for
    that, and merging compares with what the task had read.
    """

    async def hold(self, root: str, paths: Sequence[str], gone: Collection[str]) -> None:
        """Keep what tasks see at these paths of the workspace. `gone` are those of them that will be removed or replaced by another kind
        of entry."""

    async def hold_all(self, root: str) -> None:
        """Keep everything that is there: for a command that nobody can foresee. Raises: Conflict if it is too much, or a task is busy."""

    async def hide(self, root: str, new: Sequence[str]) -> None:
        """Keep tasks from seeing what came to these paths just now."""


@value
class RolledForward:
    """`conflicts` are the paths that matched neither the state before nor the intended state: they are left unchanged."""

    conflicts: tuple[str, ...] = ()
