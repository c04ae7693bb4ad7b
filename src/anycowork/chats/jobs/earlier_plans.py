"""Offers the plans of completed jobs for similar requests in the same workspace, until a person forgets them."""

import re
from collections.abc import Iterable

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.messages import Json
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.values import replace
from anycowork.domain.visibility import viewer_of
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

    async def similar(self, principal: Principal, chat_id: str, request: str) -> list[Json]:
        """Raises: NotFound for an unknown chat."""
        chat = await require_chat(self._store, chat_id)
        earlier = await self._store.jobs.completed_requests(
            chat.workspace, limit=MOST_COMPARED, longest=LONGEST_REQUEST, viewer=viewer_of(principal)
        )
        similar_jobs = [
            await self._store.jobs.find(job_id) for job_id in similar_requests(request, earlier, most=MOST_OFFERED)
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
        job = await self._store.jobs.find(job_id, with_plan=False)
        if job is None:
            raise NotFound("job", job_id)
        if job.status is not JobStatus.COMPLETED:
            raise Conflict("Only the plan of a completed job is offered, so there is nothing to forget.")
        return job


def _offered(job: Job, plan: Json) -> Json:
    return {"job_id": job.id, "request": job.request, "completed_at": job.completed_at, "plan": plan}


LONGEST_REQUEST = 4_000  # characters that are compared
_WORD = re.compile(r"\w+")
_SHORTEST_WORD = 3
_ALIKE = 0.3  # the share of common words among all words of both


def similar_requests(request: str, earlier: Iterable[tuple[str, str]], *, most: int) -> list[str]:
    """Returns the ids of the most similar ones, best first. `earlier` are ids and requests, newest first; of equal ones the newest wins."""
    request_words = _words(request)
    rated: dict[frozenset[str], tuple[float, str]] = {}
    for job_id, text in earlier:
        earlier_words = _words(text)
        share = (
            len(request_words & earlier_words) / len(request_words | earlier_words)
            if request_words and earlier_words
            else 0.0
        )
        if share >= _ALIKE:
            rated.setdefault(earlier_words, (share, job_id))
    best = sorted(rated.values(), key=lambda rating: -rating[0])  # stable: newer ones stay first
    return [job_id for _, job_id in best[:most]]


def _words(text: str) -> frozenset[str]:
    all_words = _WORD.findall(text[:LONGEST_REQUEST].casefold())
    return frozenset(word for word in all_words if len(word) >= _SHORTEST_WORD)
