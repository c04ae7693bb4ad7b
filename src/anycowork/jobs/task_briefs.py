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


def task_assignment(step: PlanStep, task: JobTask, done: Sequence[JobTask], earlier: Sequence[Call]) -> str:
    """The task in full, then the results it builds on, by id and summary only, then what an earlier attempt did."""
    parts = [f"Task {task.id}: {task.description}"]
    if step.reason:
        parts.append(f"Why: {step.reason}")
    if step.paths:
        parts.append(f"Files of this task: {', '.join(step.paths)}")
    if step.commands:
        parts.append("Commands of this task:\n" + "\n".join(f"- {command}" for command in step.commands))
    if step.check:
        parts.append(f"It is done when this command succeeds: {step.check}")
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


def quoted_in_assignment(task: JobTask, done: Sequence[JobTask]) -> str:
    """The reports that the assignment quotes: of the tasks before it, and of the attempt before this one."""
    return "\n".join([summaries(done), _reason(task)])


def summaries(tasks: Sequence[JobTask]) -> str:
    """An entry for each task: id, status and result, bounded. Further lines of a result are indented: none looks like another entry."""
    lines: list[str] = []
    left = MOST_OF_ALL
    for task in tasks:
        outcome = task.result if task.status is TaskStatus.COMPLETED else _reason(task)
        told = "\n  ".join((outcome or "")[:MOST_OF_A_RESULT].splitlines())
        line = f"- {task.id} ({task.status.value}{', claimed' if task.claimed else ''}): {told}"
        line = line[: min(MOST_OF_A_RESULT, left)]
        left -= len(line)
        if left <= 0:
            return "\n".join([*lines, "- (more tasks are left out here)"])
        lines.append(line)
    return "\n".join(lines)


def job_results(job: Job, tasks: Sequence[JobTask]) -> str:
    """What the primary agent writes the final response from."""
    return (
        f"All tasks of the job are finished. Asked was: {job.request[:MOST_OF_ALL]}\n\nResults:\n{summaries(tasks)}\n\n"
        "Tell the person in plain words what was done and what they should know. Name what is only claimed."
    )


def replan_request(job: Job, tasks: Sequence[JobTask]) -> str:
    """What the planning agent makes the rest of the plan from."""
    return (
        f"The job could not go on as planned. Asked was: {job.request[:MOST_OF_ALL]}\n\nWhat became of the plan so far:\n"
        f"{summaries(tasks)}\n\nPlan what is left to do from here. Completed tasks stay done: do not plan them again."
    )


def plain_response(tasks: Sequence[JobTask]) -> str:
    """The final response where no agent could write one."""
    return "All tasks are finished.\n\n" + summaries(tasks)


def history_page(messages: Sequence[Message], before: int | None) -> str:
    """The chat without what workers did, numbered: the newest messages, or those before a number, as many as fit."""
    own = [message for message in messages if message.task_id is None and message.content]
    last = len(own) if before is None else min(before - 1, len(own))
    lines: list[str] = []
    left = MOST_OF_ALL
    for number in range(last, 0, -1):
        one = own[number - 1]
        line = f"[{number}] {one.role.value}: {one.content}"
        if len(line) > left and lines:
            lines.append(f"(for older messages call read_history with before = {number + 1})")
            break
        lines.append(line[:MOST_OF_ALL])
        left -= len(line)
    return "\n\n".join(reversed(lines)) or "(no older messages)"


def _reason(task: JobTask) -> str:
    return str((task.error or {}).get("message") or "")


def _earlier_attempt(task: JobTask, earlier: Sequence[Call]) -> str:
    why = _reason(task) or "it was interrupted"
    done = [
        f"- {call.tool} {call.parameters.get('path') or call.parameters.get('command') or ''}: {call.result.status.value}"[
            :200
        ]
        for call in earlier[-_MOST_CALLS:]
        if call.result is not None
    ]
    text = f"This is attempt {task.attempt}. The one before ended: {why}"
    return text + (
        "\nIts calls, which are not undone (look before you repeat one):\n" + "\n".join(done) if done else ""
    )
