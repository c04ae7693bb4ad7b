"""The outcome of a headless run, of a chat or a job: its exit code and its cause. And how a command reports that it failed."""

from collections.abc import Collection
from dataclasses import field
from enum import StrEnum

from anycowork.client.console import stderr, strip_controls
from anycowork.client.errors import ServerRefused, with_way_out
from anycowork.domain.errors import AnyCoworkError, Invalid, NotVerified
from anycowork.domain.evidence import evidence_line
from anycowork.domain.messages import Json, json_object
from anycowork.domain.values import mutable_value, value


class RunEnding(StrEnum):
    DONE = "done"
    FAILED = "failed"
    USAGE = "usage"
    PARKED = "parked"
    LIMIT = "limit"
    PROVIDER = "provider"
    STOPPED = "stopped"


EXIT_CODES = {
    RunEnding.DONE: 0,
    RunEnding.FAILED: 1,
    RunEnding.USAGE: 2,
    RunEnding.PARKED: 3,
    RunEnding.LIMIT: 4,
    RunEnding.PROVIDER: 5,
    RunEnding.STOPPED: 130,
}
_BY_REASON = {
    "answered": RunEnding.DONE,
    "terminated": RunEnding.DONE,
    "planned": RunEnding.DONE,
    "asked": RunEnding.PARKED,
    "limit": RunEnding.LIMIT,
    "blocked": RunEnding.FAILED,
    "failed": RunEnding.FAILED,
    "stopped": RunEnding.FAILED,
    "interrupted": RunEnding.FAILED,
}
_ANSWERS = ("text", "plan", "review")


@value
class RunOutcome:
    """`text` is the final answer; `error` describes a failure in a sentence; `waiting` are the events that need a person."""

    ending: RunEnding
    text: str = ""
    error: str | None = None
    plan: Json | None = field(default=None, hash=False)
    waiting: tuple[Json, ...] = field(default=(), hash=False)
    code: str | None = None  # of the error
    evidence: Json | None = field(default=None, hash=False)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.ending]


@mutable_value
class OutcomeTracker:
    """Follows one turn's events until there is an outcome."""

    turn_id: str
    outcome: RunOutcome | None = None
    _text: str = ""
    _plan: Json | None = None

    def see(self, event: Json) -> RunOutcome | None:
        """Processes one event; returns the outcome once the turn has ended or waits for a person."""
        if event.get("turn_id") != self.turn_id:
            return None
        match event.get("type"):
            case "message":
                self._see_message(json_object(event.get("message")))
            case "permission-request":
                self.outcome = self._parked(json_object(event.get("approval")))
            case "question":
                self.outcome = self._parked(json_object(event.get("question")))
            case "turn-ended":
                self.outcome = self._ended(event)
            case _:
                pass
        return self.outcome

    def _see_message(self, message: Json) -> None:
        if message.get("role") != "assistant" or message.get("message_type") not in _ANSWERS:
            return
        self._text = str(message.get("content") or "")
        is_plan = message.get("message_type") == "plan"
        self._plan = json_object(message.get("payload")) if is_plan else None

    def _parked(self, waiting: Json) -> RunOutcome:
        return RunOutcome(RunEnding.PARKED, text=self._text, error="The turn waits for a person.", waiting=(waiting,))

    def _ended(self, event: Json) -> RunOutcome:
        reason = str(event.get("reason"))
        error = json_object(json_object(event.get("turn")).get("error"))
        ending = _BY_REASON.get(reason, RunEnding.FAILED)
        if ending is RunEnding.FAILED and is_provider_fault(str(error.get("code", ""))):
            ending = RunEnding.PROVIDER
        evidence = json_object(event.get("evidence")) or None
        if ending is RunEnding.DONE and evidence is not None and evidence.get("status") == "failed":
            summary = evidence_line(evidence)
            return RunOutcome(
                RunEnding.FAILED, text=self._text, error=summary, code=NotVerified.code, evidence=evidence
            )
        if ending is RunEnding.DONE:
            return RunOutcome(ending, text=self._text, plan=self._plan, evidence=evidence)
        problem = str(error.get("message") or f"The turn ended: {reason}.")
        code = error.get("code")
        code = code if isinstance(code, str) else None
        return RunOutcome(ending, text=self._text, error=problem, code=code, evidence=evidence)


def is_provider_fault(code: str) -> bool:
    return code.startswith("provider_") or code == "no_such_model"


@mutable_value
class JobTracker:
    """Follows one job's events until there is an outcome. `approved`: its plan is approved already."""

    job_id: str
    approved: bool = False
    _plan: Json | None = None

    def see(self, event: Json) -> RunOutcome | None:
        """Takes in one event; the outcome once the job has ended or waits for a person."""
        if event.get("job_id") != self.job_id:
            return None
        match event:
            case {"type": "permission-request", "approval": dict(asked)} | {
                "type": "question",
                "question": dict(asked),
            }:
                return RunOutcome(RunEnding.PARKED, error="The job waits for a person.", waiting=(asked,))
            case {"type": "message", "message": {"message_type": "plan", "payload": dict(plan)}}:
                self._plan = plan
            case {"type": "job-updated" | "job-completed", "job": dict(job)}:
                return self.outcome(job)
        return None

    def outcome(self, job: Json) -> RunOutcome | None:
        """The outcome that this status means; None while the job goes on."""
        error = job.get("error")
        message = str(error.get("message")) if isinstance(error, dict) else f"The job is {job.get('status')}."
        match job.get("status"):
            case "completed":
                return RunOutcome(RunEnding.DONE, text=str(job.get("final_response") or ""))
            case "awaiting_approval" if not self.approved:
                return RunOutcome(
                    RunEnding.PARKED,
                    error="The plan waits for your approval.",
                    plan=self._plan,
                    code=str(job["status"]),
                )
            case "failed" | "cancelled":
                limit = isinstance(error, dict) and error.get("code") == "limit_reached"
                return RunOutcome(
                    RunEnding.LIMIT if limit else RunEnding.FAILED, error=message, code=str(job["status"])
                )
            case "planning":
                self.approved = False  # a new plan for the rest needs a person again
            case "awaiting_commit":
                return RunOutcome(
                    RunEnding.PARKED, error="The job's changes wait for your review.", code=str(job["status"])
                )
            case "paused":
                return RunOutcome(RunEnding.PARKED, error="The job is paused.", code=str(job["status"]))
        return None


def print_error(command: str, error: AnyCoworkError, usage_statuses: Collection[int] = ()) -> int:
    """Prints why the command failed; returns the exit code. A refusal with one of these statuses is a mistake in the arguments."""
    stderr().line(f"anycowork {command}: {strip_controls(with_way_out(error))}")
    mistyped = isinstance(error, Invalid) or (isinstance(error, ServerRefused) and error.status in usage_statuses)
    return EXIT_CODES[RunEnding.USAGE if mistyped else RunEnding.FAILED]
