"""Tools, calls and results. A Tool is what the model may call; a Call is one recorded wish; a Result is what came back."""

from dataclasses import field
from enum import StrEnum

from pydantic import JsonValue, StrictBool

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import AnyCoworkError, BadParameters, UnknownTool
from anycowork.domain.roles import Permission
from anycowork.domain.values import leaf_value, value

Parameters = dict[str, JsonValue]
_READING = frozenset({Permission.READ_FILES})
_CHANGING_FILES = frozenset({Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES})


@value
class ToolSpec:
    """What the prompt, the gate and the records know of a tool. `schema` is the JSON schema of its parameters.

    `forms` are narrower schemas, where a tool can be called in several ways that exclude each other: for a decoder that is
    held to a schema, which cannot be told so in words.
    What one that is `contained` runs is held by a sandbox: nothing but the workspace can change, and that only at its end.
    One that `looks_below` looks at all that lies below the folder it is called for. One that `reveals` tells what is in a file, or
    carries it to where it can be read: whoever may not read the file may not call it there.
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
    plugin: str | None = None  # whose it is; None: ours. A stranger's may look at everything that it is shown
    server: str | None = (
        None  # the MCP server that offers it. What it does happens outside, so no file of the workspace changes
    )

    @property
    def read_only(self) -> bool:
        return self.permissions <= _READING

    @property
    def needs_lease(self) -> bool:
        """Whether a file of the workspace may change: by the tool itself, or by what is committed after it."""
        return not self.read_only and self.server is None

    @property
    def foreign(self) -> bool:
        """Whether third parties wrote it."""
        return self.plugin is not None or self.server is not None

    @property
    def changes_files(self) -> bool:
        return not self.permissions.isdisjoint(_CHANGING_FILES)

    @property
    def runs_commands(self) -> bool:
        """Whether it runs a command that the model wrote. A server's tool needs the permission, and runs none."""
        return Permission.EXECUTE_COMMANDS in self.permissions and self.server is None


class ToolCall(Boundary):
    """The strict form a model asks for a tool with; all three keys are required."""

    tool: str
    parameters: Parameters
    terminate: StrictBool


class Status(StrEnum):
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
    """`content` is stored whole; what the model is shown of it is cut elsewhere. `facts` is small machine-readable detail (exit code, hash)."""

    status: Status
    content: str
    error: CallError | None = None
    diff: str | None = None
    facts: dict[str, JsonValue] = field(default_factory=dict, hash=False)

    @classmethod
    def failed(cls, error: AnyCoworkError, *, status: Status = Status.ERROR) -> "ToolResult":
        return cls(status=status, content=error.message, error=CallError.of(error))

    @property
    def was_model_fault(self) -> bool:
        """The model got the call itself wrong; it is counted, and may be corrected."""
        return self.error is not None and self.error.code in (UnknownTool.code, BadParameters.code)


class CallState(StrEnum):
    """issued → (asking →) intent → settled. A read skips `intent`: it has no effect to settle."""

    ISSUED = "issued"
    ASKING = "asking"
    INTENT = "intent"
    SETTLED = "settled"


@value
class Provenance:
    """Where the call stood: the whole reply, or quoted in prose, or verbatim in an earlier tool result, or as a `check_syntax` in the approved plan,
    or as a `reference` in the person's own words.

    `workflow` names the one that a call is a step of: then a person's file said it, not a model.
    """

    whole_reply: bool = True
    in_tool_result: bool = False
    check: bool = False
    reference: bool = False
    workflow: str | None = None

    @property
    def suspicious(self) -> bool:
        return not self.whole_reply or self.in_tool_result


@leaf_value
class Call:
    """One call as recorded. Its authority is frozen: the role at issue stands in it for ever."""

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
        """Its changes, if they wait for a person's word. Once their commit is intended, they do not any more."""
        waits = self.state is not CallState.SETTLED and self.intent is not None and self.intent.held is not None
        return self.intent if waits else None


@value
class Intent:
    """What is about to be done, durable before it is done: for a file, the hash before and the hash meant for afterwards (None = absent).

    A `contained` command changes nothing until its commit is intended: then `staged` is where its changes wait, and `paths` is the
    manifest by which the commit can be finished. One that is `held` is staged the same way, but not intended: a person must speak first.
    """

    paths: tuple["PathIntent", ...] = ()
    command: str | None = None
    contained: bool = False
    staged: str | None = None
    held: "Held | None" = None


@value
class Held:
    """A command that has run and whose changes wait for a person's word: why they are asked for, how they look, and what it said.

    `every_time`: for what it changed, so that no rule about the command's words would spare the question. `beneath` identifies what the
    manifest does not say of the files that it changed: their kinds and modes.
    """

    why: tuple[str, ...]
    diff: str | None
    result: ToolResult
    every_time: bool = False
    beneath: str = ""


@value
class PathIntent:
    """`kind` is file, folder or link; what is no file has a mark of its kind where a file has its hash. `mode` None leaves it alone."""

    path: str
    before: str | None
    after: str | None
    kind: str = "file"
    mode: int | None = None
