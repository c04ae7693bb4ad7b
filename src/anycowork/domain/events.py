"""Records and events: a record is one durable fact, an event is the same fact as sent to readers, numbered per chat."""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum

from anycowork.domain.messages import Json
from anycowork.domain.values import leaf_value, value

ENVELOPE_VERSION = 1
SERVER_LABEL = "worker:house"


class EventType(StrEnum):
    MESSAGE = "message"
    TURN_STARTED = "turn-started"
    TURN_ENDED = "turn-ended"
    TEXT_DELTA = "text-delta"
    REASONING_DELTA = "reasoning-delta"
    TOOL_CALL = "tool-call"
    TOOL_RESULT = "tool-result"
    PERMISSION_REQUEST = "permission-request"
    PERMISSION_DECIDED = "permission-decided"
    QUESTION = "question"
    QUESTION_ANSWERED = "question-answered"
    PLAN_UPDATE = "plan-update"
    TASK_STARTED = "task-started"
    TASK_COMPLETED = "task-completed"
    JOB_UPDATED = "job-updated"
    JOB_COMPLETED = "job-completed"
    WORKFLOW_PROGRESS = "workflow-progress"
    ROLE_CHANGED = "role-changed"
    QUEUE_UPDATED = "queue-updated"
    SNAPSHOT = "snapshot"
    RESTORE_PROGRESS = "restore-progress"
    MODEL_RETRY = "model-retry"
    MCP_WAIT = "mcp-wait"
    USAGE = "usage"
    ERROR = "error"


DELTAS = frozenset({EventType.TEXT_DELTA, EventType.REASONING_DELTA})

SIDEBAR = frozenset(
    {
        EventType.TURN_STARTED,
        EventType.TURN_ENDED,
        EventType.PERMISSION_REQUEST,
        EventType.PERMISSION_DECIDED,
        EventType.QUESTION,
        EventType.QUESTION_ANSWERED,
        EventType.PLAN_UPDATE,
        EventType.ROLE_CHANGED,
        EventType.JOB_UPDATED,
        EventType.JOB_COMPLETED,
        EventType.ERROR,
    }
)


@value
class NewEvent:
    """An event before it has a number. `body` holds the noun under its own key (or a delta's three flat fields)."""

    type: EventType
    body: Json = field(hash=False)
    turn_id: str | None = None
    job_id: str | None = None
    task_id: str | None = None
    step_id: str | None = None
    call_id: str | None = None
    attempt: int = 1
    principal: str = SERVER_LABEL
    cause: str | None = None

    def envelope(
        self,
        *,
        seq: int,
        record_id: str,
        chat_id: str,
        recorded_at: str,
        principal: str = SERVER_LABEL,
        cause: str | None = None,
    ) -> Json:
        """Returns the event as JSON. If it has no principal or cause, those of its change are used."""
        return {
            "seq": seq,
            "id": record_id,
            "type": str(self.type),
            "v": ENVELOPE_VERSION,
            "chat_id": chat_id,
            "turn_id": self.turn_id,
            "job_id": self.job_id,
            "task_id": self.task_id,
            "step_id": self.step_id,
            "call_id": self.call_id,
            "attempt": self.attempt,
            "at": recorded_at,
            "principal": principal if self.principal == SERVER_LABEL else self.principal,
            "cause": cause if self.cause is None else self.cause,
            **self.body,
        }


@leaf_value
class Record:
    """`body` is the envelope as canonical bytes: it is stored, hashed in the chain, and sent to readers.

    `position` is its number among the records of all chats; a live delta has none.
    """

    chat_id: str
    seq: int
    type: EventType
    body: bytes
    position: int = 0


class StreamSignal(StrEnum):
    """What a stream of records delivers between records."""

    KEEP_ALIVE = "keep-alive"
    CHATS_CHANGED = "chats"  # a chat was added, removed or renamed


StreamItem = Sequence[Record] | StreamSignal
"""What a subscriber gets at once: records in their order, never none, or a signal. Each protocol encodes it in its own way."""
