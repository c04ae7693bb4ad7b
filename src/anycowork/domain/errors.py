"""Every error of ours says who should act next.

AnyCoworkError
├── Refusal        the house said no; final, never retried    Forbidden · DeniedByRule · RejectedByUser · OutsideWorkspace
├── ModelFault     the model may try again, and is counted    MalformedReply · UnknownTool · BadParameters · StepsOpen · Runaway
├── ToolFault      the tool ran and failed; the model sees it FileMissing · FileExists · NotRead · CommandFailed · …
├── LimitReached   the turn ends, the user is told            TooManySteps · OutOfTime · TooManyFaults
├── ProviderFault  upstream; retried with backoff             Unreachable · RateLimited · BrokenStream · BadKey · NoSuchModel
├── StorageFault   the disk or the database failed; nothing was acknowledged
└── RequestFault   the caller erred; 4xx                      NotFound · Conflict · Invalid · NotAllowed · TooLarge · KeyLimitReached
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class AnyCoworkError(Exception):
    """`code` is stable and for programs; the message is a sentence for people: the thing, the reason, the way out."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


# --- the house said no


class Refusal(AnyCoworkError):
    code = "refused"


class Forbidden(Refusal):
    code = "forbidden_by_role"


class DeniedByRule(Refusal):
    code = "denied_by_rule"


class RejectedByUser(Refusal):
    code = "denied_by_user"


class OutsideWorkspace(Refusal):
    code = "outside_workspace"


class RepeatedCall(Refusal):
    code = "repeated_call"


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
    """The model stopped while steps of the approved plan are open."""

    code = "steps_open"


class Runaway(ModelFault):
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
    """An existing file would be overwritten by someone who has not read it in this turn."""

    code = "not_read"


class NoMatch(ToolFault):
    code = "no_match"


class NotText(ToolFault):
    code = "not_text"


class WrongKind(ToolFault):
    """A folder where a file was meant, a FIFO, a device, a hard-linked file."""

    code = "wrong_kind"


class CommandFailed(ToolFault):
    code = "command_failed"


class ToolTimedOut(ToolFault):
    code = "timed_out"


class Interrupted(ToolFault):
    code = "interrupted"


class StateChanged(ToolFault):
    """What was looked at is no longer what is there."""

    code = "state_changed"


class StepNotReady(ToolFault):
    """A call of a plan's step came before the steps that this step depends on. It was not made."""

    code = "step_not_ready"


class NotKept(ToolFault):
    """What a call would change could not be kept for undoing it, so it was not done."""

    code = "not_kept"


# --- the turn ends


class LimitReached(AnyCoworkError):
    code = "limit_reached"


class TooManySteps(LimitReached):
    code = "too_many_steps"


class OutOfTime(LimitReached):
    code = "out_of_time"


class TooManyFaults(LimitReached):
    code = "too_many_faults"


# --- upstream


class ProviderFault(AnyCoworkError):
    code = "provider_failed"


class Unreachable(ProviderFault):
    code = "provider_unreachable"
    retryable = True


class Untrusted(ProviderFault):
    """No safe connection comes about: nothing here vouches for its certificate, or it has none."""

    code = "provider_untrusted"


class RateLimited(ProviderFault):
    code = "provider_rate_limited"
    retryable = True


class Overloaded(ProviderFault):
    code = "provider_overloaded"
    retryable = True


class BrokenStream(ProviderFault):
    code = "provider_broke_off"


class NoAnswerInTime(ProviderFault):
    code = "provider_timed_out"


class BadKey(ProviderFault):
    code = "provider_bad_key"


class NoSuchModel(ProviderFault):
    code = "no_such_model"


class RejectedRequest(ProviderFault):
    code = "provider_rejected_request"


# --- the disk


class StorageFault(AnyCoworkError):
    code = "storage_failed"
    retryable = True


class DatabaseDamaged(StorageFault):
    """The database's file has content that SQLite cannot read. Trying again does not help."""

    code = "database_damaged"
    retryable = False


# --- the caller erred


class RequestFault(AnyCoworkError):
    """`status` is the HTTP status that every face gives it; `param` names the field at fault."""

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


class UnknownWorkflow(Invalid):
    """A message that begins like a workflow's name and is none."""

    code = "unknown_workflow"


class BadWorkflow(Invalid):
    """A definition that cannot be run as it stands."""

    code = "bad_workflow"


class UnfittingParameters(Invalid):
    """`faults` maps each parameter at fault to what is wrong with it: all of them at once."""

    code = "unfitting_parameters"

    def __init__(self, message: str, faults: Mapping[str, str] | None = None) -> None:
        self.faults = dict(faults or {})
        super().__init__(message, param=f"parameters.{next(iter(self.faults))}" if self.faults else "parameters")

    @classmethod
    def of(cls, workflow: str, faults: Mapping[str, str]) -> "UnfittingParameters":
        told = " ".join(f"'{name}' {reason}." for name, reason in faults.items())
        return cls(f"The parameters of '{workflow}' do not fit: {told}", faults)


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


class NoSuchWorkflow(NotFound):
    """`near` are names that may have been meant; `left_out` is the fault of a file that would have been this one."""

    def __init__(self, name: str, near: Sequence[str] = (), left_out: str = "") -> None:
        super().__init__("workflow", name)
        if left_out:
            self.message = f"The workflow '{name[:80]}' is left out until its file is mended: {left_out}."
            return
        hint = (
            f"Did you mean {' or '.join(repr(one) for one in near)}?"
            if near
            else "`anycowork workflow list` or GET /workflows lists them."
        )
        self.message = f"There is no workflow '{name[:80]}'. {hint}"


class NotTrusted(RequestFault):
    """What a workspace supplies is used only after a person trusted its content."""

    code = "not_trusted"
    status = 403


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
    """A client key asks for more than it may have now; `retry_after` is in seconds. The codes are those that OpenAI's clients know."""

    code = "rate_limit_exceeded"
    status = 429

    def __init__(self, message: str, *, param: str | None = None, retry_after: int = 1) -> None:
        super().__init__(message, param=param)
        self.retry_after = retry_after


class KeyUsedUp(KeyLimitReached):
    """Nothing is left of the day: asking again at once is pointless."""

    code = "insufficient_quota"


class Conflict(RequestFault):
    code = "conflict"
    status = 409


class TurnAlreadyRunning(Conflict):
    code = "turn_running"


class NeedsConfirmation(Conflict):
    code = "needs_confirmation"


class AlreadyAnswered(Conflict):
    code = "already_answered"


class AlreadyDecided(Conflict):
    code = "already_decided"


class NotAsShown(Conflict):
    """A client says that it showed a person something else than the decision would grant."""

    code = "not_as_shown"


class PlanSuperseded(Conflict):
    code = "plan_superseded"


class PlanAlreadyApproved(Conflict):
    code = "plan_already_approved"


class BuiltIn(Conflict):
    """It comes with the release, and stays as it is."""

    code = "built_in"


class ContentChanged(Conflict):
    """It is not what was shown any more."""

    code = "content_changed"


class SnapshotPruned(Conflict):
    """It was there once; its content made room for newer ones."""

    code = "snapshot_pruned"
    status = 410


class SnapshotDamaged(Conflict):
    code = "snapshot_damaged"


class NoRoom(Conflict):
    """The disk could not hold what shall come back. Nothing was changed."""

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
            " Name the paths in 'overwrite' to restore them all the same, or leave them out with 'paths'.",
            conflicts,
        )
