"""Jobs as text for a terminal: the plan against what was done, waiting changes, agents, and templates. Pure."""

import json
from collections.abc import Iterator

from pydantic import JsonValue

from anycowork.domain.messages import Json, json_object, json_objects

_WIDTHS = (16, 12, 9, 7, 9, 9)


def job_lines(answer: Json) -> Iterator[str]:
    """One row for each job."""
    jobs = list(json_objects(answer.get("jobs")))
    if not jobs:
        yield 'No jobs yet. `anycowork run --job "…"` plans one.'
    for job in jobs:
        yield f"{job['id']}  {job['status']!s:<18} {str(job['request'])[:80]}"


def job_details(job: Json) -> Iterator[str]:
    """One job: what came of each task, and the plan that waits for approval with everything that approving it grants."""
    yield f"{job['id']}  {job['status']}: {job['request']}"
    for task in json_objects(job.get("tasks")):
        facts = json_object(task.get("evidence"))
        word = facts.get("status") or ("claimed" if task.get("claimed") else None)
        shown_word = f" ({word})" if word else ""
        yield f"  {task['id']!s:<14} {task['status']}{shown_word}: {task_outcome(task)}"
        if task.get("waiting_for"):
            yield f"    waits for {task['waiting_for']}"
        if task.get("worker"):
            yield f"    worker: {task['worker']}"
        for expectation in json_objects(facts.get("expectations")):
            if expectation.get("state") != "met":
                yield f"    {expectation.get('subject')}: {expectation.get('why')}"
    plan = job.get("plan")
    if job.get("status") == "awaiting_approval" and isinstance(plan, dict):
        yield from _plan_lines(plan)
    error = job.get("error")
    if isinstance(error, dict):
        yield f"  {error.get('message')}"


def task_outcome(task: Json) -> str:
    """Returns a task's result, else why it did not succeed, else what it is about."""
    error = task.get("error")
    is_over = task.get("status") not in ("running", "completed")
    reason = error.get("message") if is_over and isinstance(error, dict) else None
    return str(task.get("result") or reason or task.get("description"))


def _plan_lines(plan: Json) -> Iterator[str]:
    """Every field of every step, each on one line, so that no text in it looks like a field."""
    yield f"Plan: {_in_one_line(plan.get('goal'))}"
    for step in json_objects(plan.get("steps")):
        yield f"  {_in_one_line(step.get('id')):<14} {_in_one_line(step.get('action'))}"
        for name, field in step.items():
            if name not in ("id", "step_number", "action") and field:
                yield f"    {name.replace('_', ' ')}: {_in_one_line(field)}"
    if plan.get("budget"):
        yield f"  budget: {_in_one_line(plan['budget'])}"


def _in_one_line(field: JsonValue) -> str:
    if isinstance(field, list) and all(isinstance(item, str) for item in field):
        field = ", ".join(map(str, field))
    text = field if isinstance(field, str) else json.dumps(field, ensure_ascii=False)
    return text.replace("\n", "⏎")


def template_lines(answer: Json) -> Iterator[str]:
    """One row for each template, under it its parameters; then the files that give none."""
    for template in json_objects(answer.get("templates")):
        yield f"{template.get('name')}: {template.get('description')}"
        for parameter in json_objects(template.get("parameters")):
            default = f" [{parameter['default']}]" if "default" in parameter else ""
            optional = "" if parameter.get("required") or default else " [optional]"
            yield f"  {parameter.get('name')}: {parameter.get('description')}{default}{optional}"
        for step in json_objects(template.get("steps")):
            yield from (f"  expected of {step.get('id')}: {line}" for line in _list(step.get("expect")))
    for fault in json_objects(answer.get("faults")):
        line = f":{fault['line']}" if fault.get("line") else ""
        yield f"left out: {fault.get('path')}{line}: {fault.get('reason')}"


def worker_lines(answer: Json) -> Iterator[str]:
    """One row for each worker, under it the jobs that it refused."""
    workers = list(json_objects(answer.get("workers")))
    if not workers:
        yield "No worker has joined. The server runs its jobs itself; `anycowork worker` starts one."
    for worker in workers:
        jobs = ", ".join(map(str, _list(worker.get("jobs")))) or "nothing"
        since = str(worker.get("joined_at")).replace("T", " ").removesuffix("Z")
        labels = ", ".join(map(str, _list(worker.get("labels"))))
        if worker.get("pid") is None:
            tasks = ", ".join(map(str, _list(worker.get("tasks")))) or "nothing"
            offers = f", offers {labels}" if labels else ""
            yield f"{worker.get('host')} (joined, {worker.get('id')}{offers}) since {since} UTC runs {tasks}"
        else:
            yield f"{worker.get('host')} (pid {worker.get('pid')}, {worker.get('version')}) since {since} UTC runs {jobs}"
        for refused in json_objects(worker.get("refused")):
            yield f"  refused {refused.get('job_id') or 'every task'}: {refused.get('reason')}"


def audit_lines(audit: Json) -> Iterator[str]:
    """One row for each task, and under it what was done outside its step."""
    yield _row("task", "agent", "status", "files", "commands", "seconds", "cost")
    for step in json_objects(audit.get("steps")):
        used = json_object(step.get("usage"))
        yield _row(
            step.get("id"),
            step.get("agent") or "-",
            "undone" if step.get("undone_by") else step.get("status"),
            len(_list(step.get("files"))),
            len(_list(step.get("commands"))),
            used.get("seconds", "-"),
            _cost(used.get("cost")),
        )
        for call in json_objects(step.get("unplanned")):
            yield f"  unplanned: {call.get('tool')} {call.get('resource')} ({call.get('status')})"
        for path in _list(step.get("untouched")):
            yield f"  planned and not changed: {path}"


def diff_lines(answer: Json) -> Iterator[str]:
    """The changes that wait; of a race, one part for each agent. Also what an undo did."""
    for candidate in json_objects(answer.get("candidates")):
        used = json_object(candidate.get("usage"))
        yield (
            f"{candidate.get('agent')}  {candidate.get('status')}  {candidate.get('completed')} of {len(_list(candidate.get('task_ids')))} tasks, "
            f"{candidate.get('proved')} proved  {used.get('seconds', '-')} s  {_cost(used.get('cost'))}  "
            f"{len(_list(candidate.get('files')))} files"
        )
        if candidate.get("result"):
            yield f"  {candidate['result']}"
        yield str(candidate.get("diff") or "")
    for name, word in (("restored", "restored"), ("deleted", "removed"), ("kept", "kept"), ("unkept", "not kept")):
        for path in _list(answer.get(name)):
            yield f"{word}: {path}"
    if answer.get("diff"):
        yield str(answer["diff"])
    for conflict in json_objects(answer.get("conflicts")):
        yield f"conflict: {conflict.get('path')}: {conflict.get('reason')}"


def agent_lines(answer: Json) -> Iterator[str]:
    for agent in json_objects(answer.get("agents")):
        model = agent.get("model") or "(the model of the chat)"
        yield f"{agent['name']!s:<16} {agent['role']!s:<12} {model}"


def _row(*cells: JsonValue) -> str:
    *most, last = (str(cell) for cell in cells)
    return " ".join([*(f"{cell[:width]:<{width}}" for cell, width in zip(most, _WIDTHS, strict=True)), last])


def _cost(cost: JsonValue) -> str:
    return f"${cost:.4f}" if isinstance(cost, int | float) else "-"


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
