"""What the agents of a job get to read: the planner's request, a worker's task, and the results for the final response. Pure."""

from collections.abc import Sequence

from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.messages import Message
from anycowork.domain.plan import PlanStep
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.tools import Call

MOST_OF_A_RESULT = 2_000  # characters of one task's result that another worker is shown
MOST_OF_ALL = 20_000
_MOST_CALLS = 50
_MOST_OF_A_CALL = 160  # characters of its result
_UNPROVED = ", as only the agent says"


def task_assignment(step: PlanStep, task: JobTask, done: Sequence[JobTask], earlier: Sequence[Call]) -> str:
    """The task in full, then the results it builds on, by id and summary only, then what an earlier attempt did."""
    parts = [f"Task {task.id}: {task.description}"]
    if step.reason:
        parts.append(f"Why: {step.reason}")
    if step.tools_needed:
        parts.append(
            f"Tools that the plan expects: {', '.join(step.tools_needed)}. Another one that does the same will do."
        )
    if step.paths:
        parts.append(f"Files of this task: {', '.join(step.paths)}")
    if step.commands:
        parts.append("Commands of this task:\n" + "\n".join(f"- {command}" for command in step.commands))
    if step.check:
        parts.append(f"It is done when this command succeeds: {step.check}")
    if step.expect:
        parts.append("The server checks when you are done:\n" + "\n".join(f"- {line}" for line in step.expect))
    if done:
        parts.append("Results of the tasks before it:\n" + summaries(done))
    if task.attempt > 1:
        parts.append(_earlier_attempt(task, earlier))
    if task.workspace is not None:
        parts.append(
            "You work in your own copy of the workspace. Your changes are merged when you have reported success. "
            "Make no git commits: commits in a copy cannot be merged."
        )
    parts.append("End with your report.")
    return "\n\n".join(parts)


def quoted_in_assignment(task: JobTask, done: Sequence[JobTask], earlier: Sequence[Call]) -> str:
    """What the assignment quotes: the reports of the tasks before it and of the attempt before this one, and results of its calls."""
    results = [_call_line(call) for call in earlier[-_MOST_CALLS:] if call.result is not None]
    return "\n".join([summaries(done), _reason(task), *results])


def summaries(tasks: Sequence[JobTask]) -> str:
    """An entry for each task: id, status and result, bounded. Further lines of a result are indented: none looks like another entry."""
    lines: list[str] = []
    remaining = MOST_OF_ALL
    for task in tasks:
        outcome = task.result if task.status is TaskStatus.COMPLETED else _reason(task)
        text = "\n  ".join((outcome or "")[:MOST_OF_A_RESULT].splitlines())
        line = f"- {task.id} ({task.status.value}{_UNPROVED if task.claimed else ''}): {text}"
        line = line[:MOST_OF_A_RESULT]
        remaining -= len(line)
        if remaining <= 0:
            return "\n".join([*lines, "- (more tasks are left out here)"])
        lines.append(line)
    return "\n".join(lines)


def job_results(job: Job, tasks: Sequence[JobTask]) -> str:
    """What the primary agent writes the final response from."""
    return (
        f"All tasks of the job are finished. Asked was: {job.request[:MOST_OF_ALL]}\n\nResults:\n{summaries(tasks)}\n\n"
        "Tell the person in plain words what was done and what they should know. Name what only the agent says."
    )


def replan_request(job: Job, tasks: Sequence[JobTask]) -> str:
    """What the planning agent makes the rest of the plan from."""
    return (
        f"The job could not go on as planned. Asked was: {job.request[:MOST_OF_ALL]}\n\nWhat became of the plan so far:\n"
        f"{summaries(tasks)}\n\nPlan what is left to do from here. Completed tasks stay done: do not plan them again. "
        "A new step may depend on a completed task by its id."
    )


def plain_response(tasks: Sequence[JobTask]) -> str:
    """The final response where no agent could write one."""
    return "All tasks are finished.\n\n" + summaries(tasks)


def history_page(messages: Sequence[Message], before: int | None) -> str:
    """The chat without what workers did, numbered: the newest messages, or those before a number, as many as fit."""
    chat_messages = [chat_message for chat_message in messages if chat_message.task_id is None and chat_message.content]
    last = len(chat_messages) if before is None else min(before - 1, len(chat_messages))
    lines: list[str] = []
    remaining = MOST_OF_ALL
    for number in range(last, 0, -1):
        message = chat_messages[number - 1]
        line = f"[{number}] {message.role.value}: {message.content}"
        if len(line) > remaining and lines:
            lines.append(f"(for older messages call read_history with before = {number + 1})")
            break
        lines.append(line[:MOST_OF_ALL])
        remaining -= len(line)
    return "\n\n".join(reversed(lines)) or "(no older messages)"


def _reason(task: JobTask) -> str:
    return str((task.error or {}).get("message") or "")


def _earlier_attempt(task: JobTask, earlier: Sequence[Call]) -> str:
    reason = _reason(task) or "it was interrupted"
    done = [_call_line(call) for call in earlier[-_MOST_CALLS:] if call.result is not None]
    text = f"This is attempt {task.attempt}. The one before ended: {reason}"
    return text + (
        "\nIts calls and what came of them. They are not undone: what is ok is done, do not do it again:\n"
        + "\n".join(done)
        if done
        else ""
    )


def _call_line(call: Call) -> str:
    """The call, its status and the beginning of its result, in one line."""
    assert call.result is not None, "only settled calls are told"
    about = str(call.parameters.get("path") or call.parameters.get("command") or call.parameters.get("query") or "")
    head = f"- {call.tool} {about}"[:200]
    result = " ".join(call.result.content.split())[:_MOST_OF_A_CALL]
    return f"{head}: {call.result.status.value}" + (f" ({result})" if result else "")
