"""Chats and turns: a chat is one conversation in one workspace; a turn is the work from a user's message until the agent stops."""

from dataclasses import field
from enum import StrEnum

from anycowork.domain.messages import Json
from anycowork.domain.values import replace, value


class ChatState(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_ANSWER = "awaiting_answer"


class Autonomy(StrEnum):
    """How much is allowed without asking, as chosen by a person: nothing, file edits, or also commands in the sandbox."""

    ASK = "ask"
    EDITS = "edits"
    SANDBOXED = "sandboxed"


@value
class ChatConfig:
    """A chat's settings. `agent_role` is authoritative; `mode` is its older name on the wire. Unknown stored fields are kept in `extra`."""

    agent_role: str
    model_id: str | None = None
    system_prompt_id: str | None = None
    extra: Json = field(default_factory=dict, hash=False)
    autonomy: Autonomy = Autonomy.ASK

    def to_json(self) -> Json:
        return {
            **self.extra,
            "model_id": self.model_id,
            "mode": _mode_of(self.agent_role),
            "system_prompt_id": self.system_prompt_id,
            "agent_role": self.agent_role,
            "autonomy": self.autonomy.value,
        }

    @classmethod
    def from_stored(cls, stored: Json) -> "ChatConfig":
        """Reads a stored config leniently: no role means actor, `agent_mode: plan|act` means that role; an unknown role is kept, without
        any permissions. No autonomy, or an unknown one, means `ask`."""
        role = stored.get("agent_role") or stored.get("agent_mode") or "actor"
        model, prompt = stored.get("model_id"), stored.get("system_prompt_id")
        return cls(
            agent_role=role_named(str(role)),
            model_id=model if isinstance(model, str) else None,
            system_prompt_id=prompt if isinstance(prompt, str) else None,
            extra={k: v for k, v in stored.items() if k not in _CONFIG_FIELDS},
            autonomy=next((level for level in Autonomy if level.value == stored.get("autonomy")), Autonomy.ASK),
        )


_CONFIG_FIELDS = {"agent_role", "mode", "model_id", "system_prompt_id", "autonomy"}
_MODES = {"plan": "planner", "act": "actor"}


def role_named(word: str) -> str:
    """Returns the role's name. `plan` and `act` are accepted everywhere and mean planner and actor."""
    lowered = word.strip().lower()
    return _MODES.get(lowered, lowered)


def _mode_of(role: str) -> str:
    return next((mode for mode, name in _MODES.items() if name == role), role)


@value
class Chat:
    id: str
    title: str
    workspace: str
    config: ChatConfig
    state: ChatState = ChatState.IDLE
    last_seq: int = 0
    created_at: str = ""
    updated_at: str = ""
    extra: Json = field(default_factory=dict, hash=False)
    pinned: bool = False
    archived: bool = False
    visibility: str = "everyone"
    owner: str = "owner"
    """The id of the person whose it is; `owner` is who has the server's token."""

    @property
    def role(self) -> str:
        return self.config.agent_role

    def to_json(self) -> Json:
        return {
            **self.extra,
            "id": self.id,
            "title": self.title,
            "workspace": self.workspace,
            "config": self.config.to_json(),
            "state": self.state.value,
            "last_seq": self.last_seq,
            "pinned": self.pinned,
            "archived": self.archived,
            "visibility": self.visibility,
            "owner": self.owner,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


class EndReason(StrEnum):
    ANSWERED = "answered"
    TERMINATED = "terminated"
    ASKED = "asked"
    PLANNED = "planned"
    LIMIT = "limit"
    BLOCKED = "blocked"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class TurnState(StrEnum):
    """running → parked (waiting for a person) → due (answered, to be resumed) → running → ended."""

    RUNNING = "running"
    PARKED = "parked"
    DUE = "due"
    ENDED = "ended"


CONTINUABLE = frozenset({EndReason.LIMIT, EndReason.INTERRUPTED, EndReason.BLOCKED})


@value
class Limits:
    steps: int = 10
    seconds: float = 300.0
    faults: int = 3


@value
class Turn:
    """One turn of a chat. `role` is the role it was started in. `seconds` excludes waiting for a person. `plan_id` is the approved plan
    that it executes.

    A turn that plans or closes a job has its `job_id`; one that works on a task has its `task_id` too, and the `workspace` that it
    works in if that is a private copy of the chat's.
    Limits count from `steps_before` and `seconds_before`: what `steps` and `seconds` were when the plan's current step began, or when
    a person continued the turn.
    `data_folder` is the id of the data folder that holds a command's changes while a person decides about them, where several processes
    share a database: only the process on it can make them.
    `origins` are those of what its model was shown, as of the last time that it paused or ended.
    """

    id: str
    chat_id: str
    role: str
    principal: str
    message_id: str
    plan_id: str | None = None
    state: TurnState = TurnState.RUNNING
    steps: int = 0
    faults: int = 0
    seconds: float = 0.0
    reason: EndReason | None = None
    error: Json | None = field(default=None, hash=False)
    created_at: str = ""
    steps_before: int = 0
    seconds_before: float = 0.0
    job_id: str | None = None
    task_id: str | None = None
    workspace: str | None = None
    data_folder: str | None = None
    evidence: Json | None = field(default=None, hash=False)
    origins: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "role": self.role,
            "message_id": self.message_id,
            "plan_id": self.plan_id,
            "steps": self.steps,
            "reason": self.reason.value if self.reason else None,
            "error": self.error,
        }

    def continued(self) -> "Turn":
        """The same turn, due again, with counters that start anew."""
        return replace(
            self,
            state=TurnState.DUE,
            reason=None,
            error=None,
            evidence=None,
            faults=0,
            steps_before=self.steps,
            seconds_before=self.seconds,
        )
