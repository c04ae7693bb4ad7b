"""Offers the plans of completed jobs for similar requests in the same workspace, until a person forgets them."""

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.messages import Json
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.values import replace
from anycowork.jobs.similar_requests import LONGEST_REQUEST, similar_requests
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.lookup import require_chat

MOST_OFFERED = 3
MOST_COMPARED = 500  # newest jobs


class EarlierPlans:
    """The plans stand in the table of jobs; nothing is copied."""

    def __init__(self, *, chat_coordinator: ChatCoordinator, store: Store) -> None:
        self._chat_coordinator = chat_coordinator
        self._store = store

    async def similar(self, chat_id: str, request: str) -> list[Json]:
        """Raises: NotFound for an unknown chat."""
        chat = await require_chat(self._store, chat_id)
        earlier = await self._store.completed_requests(chat.workspace, limit=MOST_COMPARED, longest=LONGEST_REQUEST)
        similar_jobs = [
            await self._store.job(job_id) for job_id in similar_requests(request, earlier, most=MOST_OFFERED)
        ]
        return [_offered(job, job.plan) for job in similar_jobs if job is not None and job.plan is not None]

    async def forget(self, principal: Principal, job_id: str) -> None:
        """The job stays; its plan is not offered again. Raises: NotFound, Conflict if the job did not complete."""
        principal.require(Scope.DECIDE)
        job = await self._require_completed(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id) as chat:
            forgotten = replace(await self._require_completed(job_id), forgotten=True)
            await self._chat_coordinator.write(principal, chat.id, forgotten)

    async def _require_completed(self, job_id: str) -> Job:
        job = await self._store.job(job_id, with_plan=False)
        if job is None:
            raise NotFound("job", job_id)
        if job.status is not JobStatus.COMPLETED:
            raise Conflict("Only the plan of a completed job is offered, so there is nothing to forget.")
        return job


def _offered(job: Job, plan: Json) -> Json:
    return {"job_id": job.id, "request": job.request, "completed_at": job.completed_at, "plan": plan}
