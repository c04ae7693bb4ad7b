"""Tools, calls and results. A ToolSpec describes what the model may call; a Call is one recorded request; a ToolResult is its outcome."""

from dataclasses import field
from enum import StrEnum

from pydantic import JsonValue, StrictBool

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import AnyCoworkError, BadParameters, UnknownTool
from anycowork.domain.origins import NO_ORIGINS, Origins
from anycowork.domain.roles import Permission
from anycowork.domain.values import leaf_value, value

Parameters = dict[str, JsonValue]
_READING = frozenset({Permission.READ_FILES})
_CHANGING_FILES = frozenset({Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES})


class ToolKind(StrEnum):
    """What a tool does, in one word. Screens choose a sign and a verb by it, and need no tool's name."""

    READ = "read"
    LIST = "list"
    SEARCH = "search"
    FIND = "find"
    INSPECT = "inspect"
    CREATE = "create"
    CHANGE = "change"
    MOVE = "move"
    DELETE = "delete"
    RUN = "run"
    FETCH = "fetch"
    SEARCH_WEB = "search_web"
    ASK = "ask"
    OTHER = "other"


@value
class ToolDisplay:
    """How screens show a call. `subject` names the parameters that say what the call is about, `target` those that rules match.
    `example` holds the parameters of a complete call."""

    kind: ToolKind = ToolKind.OTHER
    subject: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    example: dict[str, JsonValue] = field(default_factory=dict, hash=False)


@value
class ToolSpec:
    """The description of a tool for the prompt, the gate and the records. `schema` is the JSON schema of its parameters.

    `forms` are narrower schemas for a tool with several mutually exclusive ways to call it: for a constrained decoder, which
    cannot be instructed in words.
    `contained`: it runs in a sandbox, where only the workspace can change, and only at the end.
    `looks_below`: it reads everything below the folder it is called for. `reveals`: it shows a file's content, or copies it to where
    it can be read, so it needs permission to read the file.
    """

    name: str
    category: str
    description: str
    permissions: frozenset[Permission]
    schema: dict[str, JsonValue] = field(hash=False)
    requires_approval: bool = True
    priority: int = 50
    contained: bool = False
    forms: tuple[dict[str, JsonValue], ...] = field(default=(), hash=False)
    looks_below: bool = False
    reveals: bool = False
    plugin: str | None = (
        None  # the plugin it belongs to; None if built in. Third-party code may read everything that it is given
    )
    server: str | None = None  # the MCP server that offers it. Unless it is `layered`, no file of the workspace changes
    layered: bool = False  # a server's tool that works in a layer over the workspace, which is committed after it
    delegate: str | None = None  # the agent of another vendor that it runs, on a private copy of the workspace
    asks_agents: bool = False  # it gives tasks to other agents, whose own calls pass the gate
    web: bool = False  # it reads the web: what it is asked for leaves this machine
    only_chat: str | None = None  # the chat that it is there for: no other one knows it
    display: ToolDisplay = ToolDisplay()

    def is_for(self, chat_id: str) -> bool:
        return self.only_chat in (None, chat_id)

    @property
    def read_only(self) -> bool:
        return self.permissions <= _READING and not self.asks_agents

    @property
    def needs_lease(self) -> bool:
        """Whether a file of the workspace may change: by the tool itself, or by what is committed after it."""
        return not self.read_only and (self.server is None or self.layered) and not self.asks_agents

    @property
    def foreign(self) -> bool:
        """Whether third parties wrote it."""
        return self.plugin is not None or self.server is not None or self.delegate is not None

    @property
    def changes_files(self) -> bool:
        return not self.permissions.isdisjoint(_CHANGING_FILES)

    @property
    def runs_commands(self) -> bool:
        """Whether it runs a command that the model wrote. A server's tool and a delegate need the permission, and run none."""
        return Permission.EXECUTE_COMMANDS in self.permissions and self.server is None and self.delegate is None


class ToolCall(Boundary):
    """The strict form of a model's tool call; all three keys are required."""

    tool: str
    parameters: Parameters
    terminate: StrictBool


class CallStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    DENIED = "denied"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


@value
class CallError:
    code: str
    message: str
    retryable: bool

    @classmethod
    def of(cls, error: AnyCoworkError) -> "CallError":
        return cls(code=error.code, message=error.message, retryable=error.retryable)


@leaf_value
class ToolResult:
    """`content` is stored whole; it is truncated for the model elsewhere. `facts` are small machine-readable details (exit code, hash).

    `origins` say where the content came from; none if the server wrote it."""

    status: CallStatus
    content: str
    error: CallError | None = None
    diff: str | None = None
    facts: dict[str, JsonValue] = field(default_factory=dict, hash=False)
    origins: Origins = NO_ORIGINS

    @classmethod
    def failed(cls, error: AnyCoworkError, *, status: CallStatus = CallStatus.ERROR) -> "ToolResult":
        return cls(status=status, content=error.message, error=CallError.of(error))

    @property
    def was_model_fault(self) -> bool:
        """Whether the model made the mistake in the call; such faults are counted, and the model may correct them."""
        return self.error is not None and self.error.code in (UnknownTool.code, BadParameters.code)


class CallState(StrEnum):
    """issued → (asking →) intent → settled. A read skips `intent`: it has no effect to settle."""

    ISSUED = "issued"
    ASKING = "asking"
    INTENT = "intent"
    SETTLED = "settled"


@value
class Provenance:
    """Where the call came from: the whole reply, a part of prose, an earlier tool result, a `check` of the approved plan, or a
    `reference` in the person's message.

    `workflow` is the workflow that the call is a step of: then it comes from a person's file, not from a model.
    `repeats`: the same call took effect in an earlier attempt at the task. `baseline`: a check that ran before the turn's first change,
    to tell what it is worth afterwards. `restores`: the server takes back what the turn itself changed.
    `origins` are those of everything that the model had been shown when it made the call; None: it was made for the turn as a whole.
    """

    whole_reply: bool = True
    in_tool_result: bool = False
    check: bool = False
    reference: bool = False
    workflow: str | None = None
    repeats: bool = False
    baseline: bool = False
    restores: bool = False
    origins: tuple[str, ...] | None = None

    @property
    def suspicious(self) -> bool:
        """Whether a person is asked about the call, whatever a plan or a rule grants, unless it only reads."""
        return not self.whole_reply or self.in_tool_result or self.repeats


@leaf_value
class Call:
    """One recorded call. Its authority is fixed: the role at the time of issue never changes."""

    id: str
    chat_id: str
    turn_id: str
    batch_id: str
    ordinal: int
    tool: str
    parameters: Parameters = field(hash=False)
    terminate: bool = False
    role_at_issue: str = ""
    ceiling: frozenset[Permission] = frozenset(Permission)
    provenance: Provenance = Provenance()
    plan_step: str | None = None
    state: CallState = CallState.ISSUED
    intent: "Intent | None" = None
    result: ToolResult | None = None

    @property
    def held(self) -> "Intent | None":
        """Its changes, if they wait for a person's decision. Once their commit is intended, they no longer wait."""
        waits = self.state is not CallState.SETTLED and self.intent is not None and self.intent.held is not None
        return self.intent if waits else None


@value
class Intent:
    """What is about to be done, durable before it is done: for a file, the hash before and the intended hash after (None = absent).

    A `contained` command changes nothing until its commit is intended: then `staged` is where its changes wait, and `paths` is the
    manifest with which the commit can be finished. `held` changes are staged the same way, but not intended: a person must decide first.
    """

    paths: tuple["PathIntent", ...] = ()
    command: str | None = None
    contained: bool = False
    staged: str | None = None
    held: "HeldChanges | None" = None


@value
class HeldChanges:
    """A command that has run and whose changes wait for a person's decision: the reasons, the diff, and the command's result.

    `every_time`: it asks because of what it changed, so no command rule can prevent the question. `beneath` identifies what the
    manifest omits about the changed files: their kinds and modes.
    """

    why: tuple[str, ...]
    diff: str | None
    result: ToolResult
    every_time: bool = False
    beneath: str = ""


@leaf_value
class PathIntent:
    """`kind` is file, folder or link; folders and links have a marker of their kind instead of a hash. `mode` None leaves the mode unchanged."""

    path: str
    before: str | None
    after: str | None
    kind: str = "file"
    mode: int | None = None
