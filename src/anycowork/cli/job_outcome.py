"""How a headless job ended, from its events. Pure: events in, outcome out."""

from dataclasses import dataclass

from anycowork.cli.run_outcome import RunEnding, RunOutcome
from anycowork.domain.messages import Json


@dataclass(slots=True)
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
