"""Lets workers join over HTTP: invitations, their secrets, and the list of those that live."""

import hashlib
import secrets
from collections.abc import Awaitable, Callable

from anycowork import __version__
from anycowork.domain.errors import Conflict, NotAllowed, NotFound, Unauthenticated
from anycowork.domain.job_workers import JoinedWorker
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.domain.values import replace, value
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.store.sql.joined_workers import JoinedWorkerTable

JOIN_PREFIX = "ac-join-"
SECRET_PREFIX = "ac-worker-"


class OtherRelease(Conflict):
    code = "other_release"


@value
class WorkerOffer:
    """What a worker says of itself when it joins."""

    host: str
    labels: tuple[str, ...]
    level: str
    processor: str
    version: str


@value
class WorkerInvite:
    """`token` is good once, until `expires_at`. `id` is stored, and opens nothing."""

    id: str
    token: str
    expires_at: str


class JoinedWorkers:
    def __init__(self, table: JoinedWorkerTable, runs: RemoteRuns, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self.runs = runs

    async def invite(self, *, labels: tuple[str, ...], seconds: float, created_by: str) -> WorkerInvite:
        token = JOIN_PREFIX + secrets.token_urlsafe(32)
        expires_at = await self._table.invite(_hash(token), labels=labels, created_by=created_by, seconds=seconds)
        return WorkerInvite(_hash(token), token, expires_at)

    async def withdraw(self, invite_id: str) -> None:
        """The invitation is good no more; a worker that joined by it is removed."""
        worker_id = await self._table.withdraw(invite_id)
        if worker_id is not None:
            self.runs.remove(worker_id)

    async def join(self, token: str, offer: WorkerOffer) -> tuple[JoinedWorker, str]:
        """Returns the worker and its secret. A worker that comes back brings its secret as the token, and stays who it was.

        Raises: NotAllowed for a token that is used or expired; OtherRelease; Unauthenticated for a worker that was removed.
        """
        if offer.version != __version__:
            raise OtherRelease(
                f"This server runs AnyCowork {__version__}, and the worker {offer.version[:40]}. Install the same release there; the join"
                " token is still good."
            )
        if token.startswith(SECRET_PREFIX):
            return await self._come_back(token, offer), token
        secret = SECRET_PREFIX + secrets.token_urlsafe(32)
        worker = JoinedWorker(
            self._clock.new_id(),
            offer.host,
            offer.labels,
            offer.level,
            offer.processor,
            offer.version,
            self._clock.now(),
        )
        await self._table.join(_hash(token), worker, secret_hash=_hash(secret))
        self.runs.seen(worker)
        return worker, secret

    async def _come_back(self, secret: str, offer: WorkerOffer) -> JoinedWorker:
        """Raises: Unauthenticated; NotAllowed for other labels, which only an invitation gives."""
        joined = await self.authenticated(secret)
        if set(offer.labels) != set(joined.labels):
            raise NotAllowed(
                f"This worker joined with {', '.join(joined.labels) or 'no labels'}. Use the same, or a new join token for others."
            )
        worker = replace(joined, host=offer.host, level=offer.level, processor=offer.processor, version=offer.version)
        await self._table.update(worker)
        self.runs.come_back(worker)
        return worker

    async def authenticated(self, bearer: str | None) -> JoinedWorker:
        """Raises: Unauthenticated."""
        worker = (
            await self._table.holder(_hash(bearer)) if bearer is not None and bearer.startswith(SECRET_PREFIX) else None
        )
        if worker is None:
            raise Unauthenticated("This worker has not joined, or was removed. Join again with a new token.")
        return worker

    async def list(self, is_hidden: Callable[[str], Awaitable[bool]]) -> list[Json]:
        """Returns the living ones, as GET /workers shows them, without the tasks of turns that are hidden from who asks."""
        living = self.runs.living()
        listed: list[Json] = []
        for worker in await self._table.all():
            live = living.get(worker.id)
            if live is not None:
                listed.append(
                    {
                        "id": worker.id,
                        "host": worker.host,
                        "labels": [*worker.labels],
                        "level": worker.level,
                        "processor": worker.processor,
                        "tasks": [task for turn_id, task in [*live.tasks.items()] if not await is_hidden(turn_id)],
                        "cache_bytes": live.cache_bytes,
                        "since": worker.joined_at,
                        "refused": [{"job_id": "", "reason": reason} for reason in live.refusals],
                        "pid": None,
                        "version": worker.version,
                        "joined_at": worker.joined_at,
                        "jobs": [],
                    }
                )
        return listed

    async def remove(self, worker_id: str) -> None:
        """Its secret opens nothing any more, and what runs on it ends. Raises: NotFound."""
        if not await self._table.remove(worker_id):
            raise NotFound("worker", worker_id)
        self.runs.remove(worker_id)


def _hash(secret: str) -> str:
    """Tokens and secrets are long and random, so a plain digest is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()
