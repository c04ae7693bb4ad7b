"""Compares the plan of a job with what was done, task by task: files, commands, time and cost. Based on recorded tool calls."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from anycowork.chats.plan_audit import CallSpan, compare, read_spans
from anycowork.domain.chats import Chat
from anycowork.domain.errors import NotFound
from anycowork.domain.jobs import Job, JobTask, step_statuses
from anycowork.domain.messages import Json
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.snapshots import shown_path
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.tools import Call
from anycowork.jobs.job_budgets import usage_json
from anycowork.permissions.budgets import CostOf
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import progress_of, require_chat


class JobAudit:
    def __init__(self, *, store: Store, toolbox: Toolbox, cost_of: CostOf) -> None:
        self._store = store
        self._toolbox = toolbox
        self._cost_of = cost_of

    async def of_job(self, job_id: str) -> Json:
        """Returns each planned step with what was done for it, and what was done outside all steps. Raises: NotFound."""
        job = await self._store.jobs.find(job_id)
        if job is None:
            raise NotFound("job", job_id)
        chat, tasks = await require_chat(self._store, job.chat_id), await self._store.tasks.of_job(job_id)
        plan = read_plan(job.plan or {})
        spans = await read_spans(self._store, chat.id)
        by_task = await self._store.usage.of_job(job_id)
        used = usage_json(await self._store.usage.of_whole_job(job_id), by_task, cost_of=self._cost_of)
        statuses = step_statuses(tasks)
        steps: list[JsonValue] = []
        for task in tasks:
            audit = await self._task(job, chat, plan, task, spans)
            steps.append({**audit, "status": statuses[task.id].value, "usage": used.get(task.id)})
        return {"job_id": job.id, "status": job.status.value, "steps": steps, "usage": used.get(None)}

    async def _task(
        self, job: Job, chat: Chat, plan: Plan | None, task: JobTask, spans: Mapping[str, CallSpan]
    ) -> Json:
        step = plan.step(task.id) if plan else None
        task_fields: Json = {
            "id": task.id,
            "agent": task.agent,
            "attempts": task.attempt,
            "undone_by": task.undone_by,
            "evidence": task.evidence,
            "intended": step.model_dump(mode="json", exclude_none=True) if step else {"action": task.description},
        }
        turns = [turn for turn in await self._store.turns.of_job(job.id, task.id) if turn.plan_id is not None]
        calls = [call for turn in turns for call in await self._store.calls.of_turn(turn.id)]
        progress = await progress_of(self._store, self._toolbox, turns[-1], chat.workspace) if turns else None
        if progress is None:
            return {
                **task_fields,
                "files": [],
                "left_out": [],
                "commands": [],
                "done": [],
                "unplanned": [],
                "untouched": [],
                "check": None,
            }
        comparison = compare(progress, turns[-1], calls, spans, reads=self._only_reads)
        steps = comparison["steps"]
        assert isinstance(steps, list) and isinstance(steps[0], dict), "a task is one step"
        files = sorted(set(_files(calls)))
        return {
            **task_fields,
            "files": [*files],
            "left_out": [path for path in files if job.drops(shown_path(path))],
            "commands": [*_commands(calls)],
            **{key: steps[0][key] for key in ("done", "untouched", "check")},
            "unplanned": comparison["unplanned"],
        }

    def _only_reads(self, call: Call) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is not None and tool.spec.read_only


def _files(calls: Sequence[Call]) -> Iterator[str]:
    """The files that calls changed."""
    for call in calls:
        if call.intent is not None and call.result is not None and call.result.status.value == "ok":
            yield from (item.path for item in call.intent.paths)


def _commands(calls: Sequence[Call]) -> Iterator[str]:
    for call in calls:
        command = call.parameters.get("command")
        if isinstance(command, str) and call.result is not None:
            yield command
