"""The error hierarchy. Each class says who should act next.

AnyCoworkError
├── Refusal        refused by policy; final, never retried    Forbidden · DeniedByRule · RejectedByUser · OutsideWorkspace
├── ModelFault     the model may try again, and is counted    MalformedReply · UnknownTool · BadParameters · StepsOpen · RunawayReply
├── ToolFault      the tool ran and failed; the model sees it FileMissing · FileExists · NotRead · CommandFailed · …
├── LimitReached   the turn ends, the user is informed            TooManySteps · OutOfTime · TooManyFaults
├── ProviderFault  upstream; retried with backoff             in provider_errors.py
├── StorageFault   the disk or the database failed; nothing was acknowledged
└── RequestFault   the caller's mistake; 4xx                      NotFound · Conflict · Invalid · NotAllowed · TooLarge · KeyLimitReached
                   those of workflows                        in workflows.py
"""

from collections.abc import Mapping
from typing import ClassVar


class AnyCoworkError(Exception):
    """`code` is stable and for programs; the message is a sentence for people: the thing, the reason, the way out."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


# --- refused by policy


class Refusal(AnyCoworkError):
    code = "refused"


class Forbidden(Refusal):
    code = "forbidden_by_role"


class DeniedByRule(Refusal):
    code = "denied_by_rule"


class RejectedByUser(Refusal):
    """`by` is the label of who denied the call, where it is known."""

    code = "denied_by_user"

    def __init__(self, message: str, *, by: str | None = None) -> None:
        super().__init__(message)
        self.by = by


class OutsideWorkspace(Refusal):
    code = "outside_workspace"


class RepeatedCall(Refusal):
    code = "repeated_call"


class CopiedExample(Refusal):
    """The call repeats an example from the model's instructions, and nobody asked for it."""

    code = "copied_example"


# --- the model may try again


class ModelFault(AnyCoworkError):
    code = "model_fault"
    retryable = True


class MalformedReply(ModelFault):
    code = "malformed_reply"


class UnknownTool(ModelFault):
    code = "unknown_tool"


class BadParameters(ModelFault):
    code = "bad_parameters"


class StepsOpen(ModelFault):
    code = "steps_open"


class NotVerified(ModelFault):
    code = "not_verified"


class RunawayReply(ModelFault):
    code = "runaway_reply"


# --- the tool ran and failed


class ToolFault(AnyCoworkError):
    code = "tool_failed"
    retryable = True


class FileMissing(ToolFault):
    code = "file_missing"


class FileExists(ToolFault):
    code = "file_exists"


class NotRead(ToolFault):
    """An existing file would be overwritten although it was not read in this turn."""

    code = "not_read"


class NoMatch(ToolFault):
    code = "no_match"


class NotText(ToolFault):
    code = "not_text"


class WrongKind(ToolFault):
    """The path is not a plain file: a folder, a FIFO, a device, a hard-linked file."""

    code = "wrong_kind"


class CommandFailed(ToolFault):
    code = "command_failed"


class ToolTimedOut(ToolFault):
    code = "timed_out"


class Interrupted(ToolFault):
    code = "interrupted"


class StateChanged(ToolFault):
    """The file or folder has changed since it was inspected."""

    code = "state_changed"


class StepNotReady(ToolFault):
    """A call belongs to a plan step whose dependencies are not finished. The call was not made."""

    code = "step_not_ready"


class NotKept(ToolFault):
    """The previous content could not be saved for undo, so the call was not made."""

    code = "not_kept"


# --- the turn ends


class LimitReached(AnyCoworkError):
    code = "limit_reached"
    limit: str | None = None  # whose it is: the `job`'s, that of each `task`, a `person`'s or a `group`'s


class TooManySteps(LimitReached):
    code = "too_many_steps"


class OutOfTime(LimitReached):
    code = "out_of_time"


class TooManyFaults(LimitReached):
    code = "too_many_faults"
    retryable = True  # another attempt begins without the model's mistakes


class ContextFull(LimitReached):
    """The model could not be shown all that it did in this turn. Compacting the chat, or continuing with what fits, helps."""

    code = "context_full"


# --- the disk


class StorageFault(AnyCoworkError):
    code = "storage_failed"
    retryable = True


class DatabaseUnreachable(StorageFault):
    """The database cannot be opened, because it does not answer, or not yet: it may later, without anybody changing a setting."""


class DatabaseDamaged(StorageFault):
    """The database's file has content that SQLite cannot read. Trying again does not help."""

    code = "database_damaged"
    retryable = False


class TakenOver(StorageFault):
    """Another process took over what this one did, so nothing of this one is written any more."""

    code = "taken_over"


class DatabaseAway(StorageFault):
    """The database does not answer now. What runs waits for it."""

    code = "database_away"


# --- the caller's mistake


class RequestFault(AnyCoworkError):
    """A mistake of the caller. `status` is the HTTP status; `param` names the invalid field."""

    code = "bad_request"
    status: ClassVar[int] = 400

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class Invalid(RequestFault):
    code = "invalid"
    status = 422


class UnknownRole(Invalid):
    code = "unknown_role"


class BadWorkspace(Invalid):
    code = "bad_workspace"


class NotFound(RequestFault):
    """`kind` is the noun that was not found; the code is `<kind>_not_found`."""

    status = 404

    def __init__(self, kind: str, thing_id: str) -> None:
        super().__init__(f"There is no {kind} '{thing_id}'.")
        self.kind = kind

    @property
    def specific_code(self) -> str:
        return f"{self.kind.replace(' ', '_')}_not_found"


class Unauthenticated(RequestFault):
    code = "unauthenticated"
    status = 401


class NotAllowed(RequestFault):
    code = "not_allowed"
    status = 403


class TooLarge(RequestFault):
    code = "too_large"
    status = 413


class KeyLimitReached(RequestFault):
    """A client key exceeds a limit; `retry_after` is in seconds. The codes are those that OpenAI clients know."""

    code = "rate_limit_exceeded"
    status = 429

    def __init__(self, message: str, *, param: str | None = None, retry_after: int = 1) -> None:
        super().__init__(message, param=param)
        self.retry_after = retry_after


class KeyUsedUp(KeyLimitReached):
    """The day's limit is used up: an immediate retry is pointless."""

    code = "insufficient_quota"


class Conflict(RequestFault):
    code = "conflict"
    status = 409


class LeaseHeld(Conflict):
    code = "lease_held"


class ChatHeld(Conflict):
    code = "chat_held"


class HeldElsewhere(ChatHeld):
    """Another process works in the chat, or has what the chat needs to go on. The request can be forwarded to it: nothing was done yet."""

    def __init__(self, message: str, *, chat_id: str) -> None:
        super().__init__(message)
        self.chat_id = chat_id


class TurnAlreadyRunning(Conflict):
    code = "turn_running"


class NeedsConfirmation(Conflict):
    code = "needs_confirmation"


class AlreadyAnswered(Conflict):
    code = "already_answered"


class AlreadyDecided(Conflict):
    code = "already_decided"


class NotAsShown(Conflict):
    """A client showed the person something other than what the decision would grant."""

    code = "not_as_shown"


class PlanSuperseded(Conflict):
    code = "plan_superseded"


class PlanAlreadyApproved(Conflict):
    code = "plan_already_approved"


class BuiltIn(Conflict):
    """A built-in item, which cannot be changed."""

    code = "built_in"


class ContentChanged(Conflict):
    """The content has changed since it was shown."""

    code = "content_changed"


class SnapshotPruned(Conflict):
    """The snapshot's content was removed to make space for newer ones."""

    code = "snapshot_pruned"
    status = 410


class ContentElsewhere(Conflict):
    """What would be restored is in the data folder of another process, on another machine."""

    code = "content_elsewhere"


class SnapshotDamaged(Conflict):
    code = "snapshot_damaged"


class NotEnoughSpace(Conflict):
    """The disk has no space for the restored content. Nothing was changed."""

    code = "no_room"


class RestoreConflict(Conflict):
    """`conflicts` maps each path to the reason. Nothing was changed."""

    code = "restore_conflict"

    def __init__(self, message: str, conflicts: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.conflicts = dict(conflicts or {})

    @classmethod
    def over(cls, conflicts: Mapping[str, str]) -> "RestoreConflict":
        first, reason = min(conflicts.items())
        more = f" ({len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
        return cls(
            f"'{first}' would be overwritten: {reason}{more}. Nothing was changed."
            " Name the paths in 'overwrite' to restore them anyway, or exclude them with 'paths'.",
            conflicts,
        )
