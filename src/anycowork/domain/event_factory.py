"""Builds events, each with its noun nested under its own key. Pure constructors; the journal assigns the numbers."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from pydantic import JsonValue

from anycowork.domain.approvals import Approval, ApprovalState
from anycowork.domain.chats import ChatState, Turn
from anycowork.domain.errors import AnyCoworkError, LimitReached
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.jobs import Job, JobTask, step_statuses
from anycowork.domain.messages import Json, Message, QueuedMessage
from anycowork.domain.model import RetryChunk
from anycowork.domain.people import DECIDED_BY
from anycowork.domain.plan import Plan, PlanStatus, StepStatuses, with_open_steps
from anycowork.domain.principals import person_name_in
from anycowork.domain.rules import Rule
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call, ToolResult
from anycowork.domain.workflows import Run

MOST_STEPS_NAMED = 200  # in one event about a job's plan


def turn_started(turn: Turn) -> NewEvent:
    return NewEvent(EventType.TURN_STARTED, {"turn": turn.to_json(), "state": ChatState.RUNNING.value}, turn_id=turn.id)


def turn_ended(turn: Turn, state: ChatState = ChatState.IDLE) -> NewEvent:
    """`state` is the chat's afterwards. `reason` stands at the top too: it is what readers look for."""
    reason = turn.reason.value if turn.reason else None
    return NewEvent(
        EventType.TURN_ENDED,
        {"turn": turn.to_json(), "reason": reason, "state": state.value, "evidence": turn.evidence},
        turn_id=turn.id,
    )


def restore_progress(snapshot_id: str, done: int, total: int) -> NewEvent:
    return NewEvent(EventType.RESTORE_PROGRESS, {"restore": {"snapshot": snapshot_id, "done": done, "total": total}})


def model_retry(turn_id: str, retry: RetryChunk, until: str) -> NewEvent:
    """The model's server failed; it is asked again at the time `until`."""
    return NewEvent(EventType.MODEL_RETRY, {"retry": {**retry.to_json(), "until": until}}, turn_id=turn_id)


def mcp_wait(turn_id: str, servers: Sequence[str]) -> NewEvent:
    """The turn waits until these MCP servers are started; with none, it goes on."""
    return NewEvent(EventType.MCP_WAIT, {"wait": {"servers": [*servers]}}, turn_id=turn_id)


def tool_call(call: Call) -> NewEvent:
    """A call made by a workflow names the workflow."""
    made_by: Json = {"workflow": call.provenance.workflow} if call.provenance.workflow else {}
    return NewEvent(
        EventType.TOOL_CALL,
        {"tool_call": {**call_json(call), "agent_role": call.role_at_issue, **made_by}},
        turn_id=call.turn_id,
        call_id=call.id,
        step_id=call.plan_step,
    )


def tool_result(call: Call, result: ToolResult) -> NewEvent:
    """Includes the role and the content's hash, so that the audit log alone shows who did what with which outcome."""
    digest = sha256(result.content.encode("utf-8", "surrogatepass")).hexdigest()
    result_body: Json = {**result_json(call, result), "agent_role": call.role_at_issue, "content_sha256": digest}
    return NewEvent(
        EventType.TOOL_RESULT,
        {"tool_result": result_body},
        turn_id=call.turn_id,
        call_id=call.id,
        step_id=call.plan_step,
    )


def snapshot(saved: Snapshot) -> NewEvent:
    return NewEvent(EventType.SNAPSHOT, {"snapshot": saved.to_json()}, turn_id=saved.turn_id, call_id=saved.call_id)


def permission_request(approval: Approval) -> NewEvent:
    return NewEvent(
        EventType.PERMISSION_REQUEST,
        {"approval": approval.to_json(), "state": ChatState.AWAITING_APPROVAL.value},
        turn_id=approval.turn_id,
        call_id=approval.tool_call_id,
    )


def permission_decided(
    approval: Approval, state: ApprovalState, note: str | None, principal: str, rules: Sequence[Rule] = ()
) -> NewEvent:
    """`rules` are the standing rules that the decision created; the first is about the call itself."""
    decided: Json = {
        "id": approval.id,
        "batch_id": approval.batch_id,
        "tool": approval.tool,
        "state": state.value,
        "note": note,
        DECIDED_BY: person_name_in(principal),
        "rule": rules[0].to_json() if rules else None,
        "rules": [rule.to_json() for rule in rules],
    }
    return NewEvent(
        EventType.PERMISSION_DECIDED,
        {"approval": decided},
        turn_id=approval.turn_id,
        call_id=approval.tool_call_id,
        principal=principal,
    )


def question(message: Message) -> NewEvent:
    return NewEvent(
        EventType.QUESTION,
        {"question": {"message_id": message.id, **(message.payload or {})}, "state": ChatState.AWAITING_ANSWER.value},
        turn_id=message.turn_id,
    )


def question_answered(message_id: str, turn_id: str, answer: Json | None, state: str, principal: str) -> NewEvent:
    body: Json = {"question": {"message_id": message_id, "state": state, "answer": answer}}
    return NewEvent(EventType.QUESTION_ANSWERED, body, turn_id=turn_id, principal=principal)


def plan_update(message_id: str, turn_id: str | None, plan: Plan, status: PlanStatus) -> NewEvent:
    """A proposed or approved plan as a whole, with every step open. `state` is the older name of `status`."""
    body: Json = {"message_id": message_id, "status": status.value, "state": status.value, **with_open_steps(plan)}
    return NewEvent(EventType.PLAN_UPDATE, {"plan": body}, turn_id=turn_id)


def plan_progress(message_id: str, turn_id: str, status: PlanStatus, steps: StepStatuses) -> NewEvent:
    """The progress of an approved plan: the status of every step."""
    step_states: list[JsonValue] = [{"id": step_id, "status": step.value} for step_id, step in steps.items()]
    body: Json = {"plan": {"message_id": message_id, "status": status.value, "steps": step_states}}
    return NewEvent(EventType.PLAN_UPDATE, body, turn_id=turn_id)


def job_updated(job: Job, state: ChatState | None = None) -> NewEvent:
    """`state` is the chat's, if the job's change changed it."""
    return NewEvent(EventType.JOB_UPDATED, {"job": job.summary(), **_state(state)}, job_id=job.id)


def job_completed(job: Job, state: ChatState | None = ChatState.IDLE) -> NewEvent:
    """The job's end, whatever its status is then. `state` is the chat's afterwards; None if another turn holds the chat."""
    return NewEvent(EventType.JOB_COMPLETED, {"job": job.summary(), **_state(state)}, job_id=job.id)


def _state(state: ChatState | None) -> Json:
    return {"state": state.value} if state else {}


def task_started(task: JobTask) -> NewEvent:
    body: Json = {"task": task.to_json()}
    return NewEvent(EventType.TASK_STARTED, body, task.turn_id, task.job_id, task.id, attempt=task.attempt)


def task_ended(task: JobTask) -> NewEvent:
    """An attempt at a task is over: completed, failed, skipped, or to be tried again (`pending`)."""
    body: Json = {"task": task.to_json()}
    return NewEvent(EventType.TASK_COMPLETED, body, task.turn_id, task.job_id, task.id, attempt=max(1, task.attempt))


def job_plan_update(job: Job, tasks: Iterable[JobTask], status: PlanStatus) -> NewEvent:
    """The statuses of steps of the job's plan; of a large plan only those that changed, or events would outgrow the work."""
    steps: list[JsonValue] = [{"id": step_id, "status": step.value} for step_id, step in step_statuses(tasks).items()]
    body: Json = {"plan": {"message_id": job.plan_id, "status": status.value, "steps": steps}}
    return NewEvent(EventType.PLAN_UPDATE, body, job_id=job.id)


def workflow_progress(run: Run) -> NewEvent:
    """Sent at the beginning of each step, and at the end of the run."""
    return NewEvent(EventType.WORKFLOW_PROGRESS, {"workflow": run.to_json()}, turn_id=run.id)


def role_changed(old: str, new: str, principal: str) -> NewEvent:
    return NewEvent(EventType.ROLE_CHANGED, {"role": {"old_role": old, "new_role": new}}, principal=principal)


def queue_updated(queued: QueuedMessage, status: str) -> NewEvent:
    """`status`: queued (new or changed), sent or removed."""
    return NewEvent(EventType.QUEUE_UPDATED, {"queued": {**queued.to_json(), "status": status}})


def usage(turn_id: str, spent: Json) -> NewEvent:
    return NewEvent(EventType.USAGE, {"usage": spent}, turn_id=turn_id)


def error(turn_id: str | None, problem: AnyCoworkError) -> NewEvent:
    return NewEvent(EventType.ERROR, {"error": error_json(problem)}, turn_id=turn_id)


def error_json(problem: AnyCoworkError) -> Json:
    limit = {"limit": problem.limit} if isinstance(problem, LimitReached) and problem.limit else {}
    return {"code": problem.code, "message": problem.message, "retryable": problem.retryable, **limit}


def call_json(call: Call) -> Json:
    return {"id": call.id, "tool": call.tool, "parameters": call.parameters, "terminate": call.terminate}


def result_json(call: Call, result: ToolResult) -> Json:
    body: Json = {"tool_call_id": call.id, "tool": call.tool, "status": str(result.status)}
    if result.error:
        body["error"] = {
            "code": result.error.code,
            "message": result.error.message,
            "retryable": result.error.retryable,
        }
    if result.diff is not None:
        body["diff"] = result.diff
    if result.facts:
        body["facts"] = result.facts
    body["origins"] = [*sorted(result.origins)]
    return body
