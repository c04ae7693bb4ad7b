"""The changes of a job that a person keeps, keeps in part or drops, and the undo of one task."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from anycowork.chats.files.rollback import RollbackRequest, RollbackResult
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import Conflict, Invalid, NotFound, RestoreConflict
from anycowork.domain.jobs import Job, JobStatus, JobTask, of_candidate
from anycowork.domain.journal import required_access
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.snapshots import shown_path
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace, value
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.job_budgets import usage_json
from anycowork.jobs.policies import GAP
from anycowork.jobs.task_commits import TaskMerge
from anycowork.permissions.budgets import CostOf
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator

_MOST_LISTED = 20  # files in a message


@value
class RaceCandidate:
    """What one agent of a race did. `copy` is where; None before its first task started."""

    agent: str
    tasks: tuple[JobTask, ...]

    @property
    def copy(self) -> str | None:
        return next((task.workspace for task in self.tasks if task.workspace is not None), None)

    @property
    def status(self) -> TaskStatus:
        statuses = {task.status for task in self.tasks}
        order = (TaskStatus.FAILED, TaskStatus.RUNNING, TaskStatus.CANCELLED, TaskStatus.SKIPPED, TaskStatus.PENDING)
        return next((status for status in order if status in statuses), TaskStatus.COMPLETED)

    @property
    def turn_id(self) -> str | None:
        return next((task.turn_id for task in reversed(self.tasks) if task.turn_id is not None), None)

    def to_json(self, usage: Mapping[str | None, Json]) -> Json:
        done = [task for task in self.tasks if task.status is TaskStatus.COMPLETED]
        return {
            "agent": self.agent,
            "task_ids": [task.id for task in self.tasks],
            "status": self.status.value,
            "completed": len(done),
            "proved": sum(not task.claimed for task in done),
            "result": done[-1].result if done else None,
            "error": next((task.error for task in self.tasks if task.error is not None), None),
            "usage": _total([usage[task.id] for task in self.tasks if task.id in usage]),
        }


def candidates_of(job: Job, tasks: Sequence[JobTask]) -> list[RaceCandidate]:
    return [RaceCandidate(agent, tuple(of_candidate(tasks, agent))) for agent in job.race]


def chosen_candidate(job: Job, tasks: Sequence[JobTask], *, agent: str | None, task_id: str | None) -> RaceCandidate:
    """The candidate that a person keeps, by its agent or one of its tasks. Raises: Invalid, NotFound, Conflict."""
    if agent is None and task_id is None:
        raise Invalid(f"Name the agent to keep: {', '.join(job.race)}.", param="agent")
    matching = [candidate for candidate in candidates_of(job, tasks) if agent in (None, candidate.agent)]
    chosen = next(
        (candidate for candidate in matching if task_id is None or task_id in (task.id for task in candidate.tasks)),
        None,
    )
    if chosen is None:
        raise NotFound("candidate" if task_id is None else "task", str(task_id or agent))
    if chosen.status is not TaskStatus.COMPLETED or chosen.copy is None:
        raise Conflict(
            f"{chosen.agent[:80]} has not completed its part ({chosen.status.value}), so there is nothing to keep. "
            "Retry its failed task, or keep another one."
        )
    return chosen


def _total(parts: Sequence[Json]) -> Json | None:
    if not parts:
        return None
    costs = [part["cost"] for part in parts]
    known_costs = [cost for cost in costs if isinstance(cost, int | float)]
    return {
        "tokens": sum(tokens for part in parts if isinstance(tokens := part["tokens"], int)),
        "seconds": round(sum(seconds for part in parts if isinstance(seconds := part["seconds"], int | float)), 3),
        "cost": sum(known_costs) if len(known_costs) == len(costs) else None,
    }


@value
class KeepRequest:
    """What a person keeps of a job's changes: all, those at `paths`, or those of one candidate of a race, named by its agent or by one
    of its tasks. `overwrite` names the paths of which the job's version stays although somebody else changed them meanwhile."""

    task_id: str | None = None
    paths: tuple[str, ...] | None = None
    overwrite: tuple[str, ...] = ()
    agent: str | None = None


class JobCommitService:
    def __init__(
        self,
        *,
        chat_coordinator: ChatCoordinator,
        store: Store,
        isolated: IsolatedTasks,
        coordinator: JobCoordinator,
        rollback: RollbackService,
        clock: Clock,
        cost_of: CostOf,
    ) -> None:
        self._chat_coordinator = chat_coordinator
        self._store = store
        self._isolated = isolated
        self._coordinator = coordinator
        self._rollback = rollback
        self._clock = clock
        self._cost_of = cost_of

    async def differences(self, job_id: str) -> Json:
        """What the job would change in the workspace; of a race, each task's own, with its time and cost. Raises: NotFound, Conflict."""
        job, _ = await self._job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id):  # so that whoever has the job's layers answers
            job, chat = await self._job(job_id)
            await self._coordinator.require_reachable(job)
            return await self._differences(job, chat)

    async def _differences(self, job: Job, chat: Chat) -> Json:
        job_id = job.id
        tasks = await self._store.tasks.of_job(job_id)
        by_task = await self._store.usage.of_job(job_id, task_ids=[task.id for task in tasks])
        used = usage_json(await self._store.usage.of_whole_job(job_id), by_task, cost_of=self._cost_of)
        if not job.race:
            assert job.workspace is not None, "a job that waits for its commit has a copy"
            merge = await self._look(chat, job.workspace)
            return {"job_id": job.id, **_shown(merge), "tasks": [], "candidates": []}
        candidates: list[Json] = []
        single: list[Json] = []
        for candidate in candidates_of(job, tasks):
            changes = _shown(await self._look(chat, candidate.copy) if candidate.copy else TaskMerge(()))
            candidates.append({**candidate.to_json(used), **changes})
            if len(candidate.tasks) == 1:
                [task] = candidate.tasks
                task_fields = {
                    key: task.to_json()[key] for key in ("id", "agent", "status", "claimed", "result", "error")
                }
                single.append({**task_fields, "usage": used.get(task.id), **changes})
        nothing: Json = {"diff": "", "files": [], "conflicts": []}
        return {"job_id": job.id, **nothing, "tasks": [*single], "candidates": [*candidates]}

    async def keep(self, principal: Principal, job_id: str, request: KeepRequest) -> Job:
        """Writes the changes into the workspace, all or none. Raises: NotFound, Conflict, Invalid; RestoreConflict, then nothing
        changed."""
        principal.require(Scope.DECIDE)
        job, _ = await self._job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id) as chat:
            job, _ = await self._job(job_id)
            await self._coordinator.require_reachable(job)
            tasks = await self._store.tasks.of_job(job_id)
            candidate = _chosen(job, tasks, request)
            copy = candidate.copy if candidate else job.workspace
            assert copy is not None, "a job that waits for its commit has a copy"
            turn_id = candidate.turn_id if candidate else None
            left_out = await self._left_out(chat, copy, request.paths) if request.paths is not None else ()
            merge = await self._isolated.committer.commit(
                chat.id,
                turn_id,
                copy,
                chat.workspace,
                paths=request.paths,
                overwrite=request.overwrite,
                required=required_access(principal),
            )
            if merge.conflicts:
                raise RestoreConflict.over({shown_path(conflict.path): conflict.reason for conflict in merge.conflicts})
            final_response = await self._kept_words(candidate) if candidate else None
            return await self._end(
                principal, chat, replace(job, left_out=left_out), tasks, _status_when_kept(job), final_response
            )

    async def _left_out(self, chat: Chat, copy: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Returns the changed files that are at none of these paths, nor below them. Raises: Invalid for a path where nothing changed."""
        merge = await self._look(chat, copy)
        paths_now = [*(file.path for file in merge.files), *(conflict.path for conflict in merge.conflicts)]
        return paths_left_out(sorted({shown_path(path) for path in paths_now}), paths)

    async def _kept_words(self, candidate: RaceCandidate) -> str:
        sentence = f"Kept the work of {candidate.agent}."
        if await self._isolated.has_commits(candidate.tasks[0]):
            return f"{sentence} Its files were kept; the git commits that it made in its copy were not."
        return sentence

    async def drop(self, principal: Principal, job_id: str) -> Job:
        """Drops the changes: the workspace stays as it is. Raises: NotFound, Conflict."""
        principal.require(Scope.DECIDE)
        job, _ = await self._job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id) as chat:
            job, _ = await self._job(job_id)
            tasks = await self._store.tasks.of_job(job_id)
            return await self._end(principal, chat, job, tasks, JobStatus.CANCELLED, None)

    async def undo_task(
        self, principal: Principal, job_id: str, task_id: str, request: RollbackRequest
    ) -> RollbackResult:
        """Undos what one task changed and keeps later, independent work. Raises: NotFound, Conflict, RestoreConflict."""
        job = await self._store.jobs.find(job_id)
        if job is None:
            raise NotFound("job", job_id)
        task = next(
            (candidate for candidate in await self._store.tasks.of_job(job_id) if candidate.id == task_id), None
        )
        if task is None:
            raise NotFound("task", task_id)
        if task.status is TaskStatus.RUNNING:
            raise Conflict(f"Task {task_id[:80]} is running. Pause or cancel the job first.")
        if job.collects and job.workspace is not None:
            raise Conflict(
                "Nothing of this job is in the workspace yet. Leave the task's paths out when you keep the changes."
            )
        turns = [turn.id for turn in await self._store.turns.of_job(job_id, task_id)]
        return await self._rollback.undo_turns(principal, task, turns, request)

    async def _end(
        self,
        principal: Principal,
        chat: Chat,
        job: Job,
        tasks: Sequence[JobTask],
        status: JobStatus,
        final_response: str | None,
    ) -> Job:
        await self._isolated.remove_all(job, tasks)
        ended_job = replace(
            job,
            status=status,
            workspace=None,
            data_folder=None,
            final_response=final_response or job.final_response,
            completed_at=self._clock.now(),
        )
        done = [replace(task, workspace=None) for task in tasks if task.workspace is not None]
        event = event_factory.job_completed(ended_job, None)
        await self._chat_coordinator.write(principal, chat.id, *done, ended_job, events=(event,))
        return ended_job

    async def _look(self, chat: Chat, copy: str) -> TaskMerge:
        return await self._isolated.committer.look(chat.id, copy, chat.workspace)

    async def _job(self, job_id: str) -> tuple[Job, Chat]:
        job = await self._store.jobs.find(job_id, with_plan=False)
        chat = await self._store.chats.find(job.chat_id) if job is not None else None
        if job is None or chat is None:
            raise NotFound("job", job_id)
        if job.status is not JobStatus.AWAITING_COMMIT:
            status = job.status.value.replace("_", " ")
            raise Conflict(f"This job is {status}; it has no changes that wait to be kept or dropped.")
        return job, chat


def paths_left_out(changed: Sequence[str], kept: Sequence[str]) -> tuple[str, ...]:
    """Returns the changed files that are at none of the kept paths, nor below them. Raises: Invalid for a path where nothing changed."""
    path_and_parents = {path: {path, *map(str, PurePosixPath(path).parents)} for path in changed}
    kept_paths = {path.strip("/") for path in kept}
    if unchanged := sorted(kept_paths.difference(*path_and_parents.values())):
        listed = ", ".join(changed[:_MOST_LISTED]) or "nothing"
        raise Invalid(f"The job changed nothing at '{unchanged[0][:200]}'. It changed: {listed}.", param="paths")
    return tuple(path for path in changed if kept_paths.isdisjoint(path_and_parents[path]))


def _status_when_kept(job: Job) -> JobStatus:
    """Of a job in which something failed it stays failed, unless a person let it go on without that, or keeps one of a race."""
    failed = job.error is not None and job.error.get("code") != GAP and not job.race
    return JobStatus.FAILED if failed else JobStatus.COMPLETED


def _shown(merge: TaskMerge) -> Json:
    return {
        "diff": merge.diff,
        "files": [file.to_json() for file in merge.files],
        "conflicts": [conflict.to_json() for conflict in merge.conflicts],
    }


def _chosen(job: Job, tasks: Sequence[JobTask], request: KeepRequest) -> RaceCandidate | None:
    """The candidate of a race; None for any other job. Raises: Invalid, NotFound, Conflict."""
    if job.race:
        return chosen_candidate(job, tasks, agent=request.agent, task_id=request.task_id)
    if request.task_id is not None or request.agent is not None:
        raise Invalid("Only of a race one candidate is kept. Name the 'paths' to keep a part.", param="task_id")
    return None
