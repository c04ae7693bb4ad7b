"""Says which jobs a process runs, where servers and workers share a database. Workers run approved jobs; servers run all others.

A job whose tasks work in private copies stays on a server: people review and keep what lies in its data folder.
"""

import asyncio
import hashlib
import logging
import os
import platform

import msgspec

from anycowork import __version__
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.messages import Json
from anycowork.domain.store_ports import StoreQueries
from anycowork.server.job_runs import JobRuns
from anycowork.server.live_settings import LiveSettings
from anycowork.server.shared_components import SharedComponents
from anycowork.server.workspace_markers import read_marker, write_marker
from anycowork.store.postgres.peer_table import PeerDescription, PeerTable

FOR_WORKERS = (JobStatus.RUNNING, JobStatus.PAUSED)
log = logging.getLogger(__name__)


class ServerPlacement:
    """Leaves a running job to the workers if one of them can run it. They get it through the engine."""

    def __init__(self, peers: PeerTable, store: StoreQueries, runs: JobRuns) -> None:
        self._peers = peers
        self._store = store
        self._runs = runs

    async def runs_here(self, job: Job) -> bool:
        if job.status is not JobStatus.RUNNING or job.isolates:
            return True
        if not await self._peers.has_worker_for(job.id):
            return True
        chat = await self._store.chat(job.chat_id)
        return chat is None or not await self._mark(chat.workspace)

    async def leave(self, job: Job) -> None:
        await self._runs.go_on(job)

    async def _mark(self, root: str) -> bool:
        """Writes the workspace's marker if it has none. Returns False if that is not possible: then no worker can know the folder."""
        marker = await asyncio.to_thread(write_marker, root)
        if marker is None:
            return False
        if await self._peers.marker(root) != marker:
            await self._peers.put_marker(root, marker)
        return True


class WorkerPlacement:
    """Takes running jobs whose workspace is the servers' own, if this worker has the same roles, agents and rules of asking."""

    def __init__(self, peers: PeerTable, store: StoreQueries, shared: SharedComponents) -> None:
        self._peers = peers
        self._store = store
        self._shared = shared
        self._refused: dict[str, str] = {}

    async def runs_here(self, job: Job) -> bool:
        if job.status not in FOR_WORKERS or job.isolates:
            return False
        chat = await self._store.chat(job.chat_id)
        wanted = await self._peers.marker(chat.workspace) if chat is not None else None
        if chat is None or wanted is None:
            return False  # a server marks the workspace first
        reason = await self._why_not(chat.workspace, wanted)
        if reason is None:
            if self._refused.pop(job.id, None) is not None:
                await self._peers.accept(job.id)
            return True
        if self._refused.get(job.id) != reason:
            log.warning("job %s is left to others: %s", job.id, reason)
            self._refused[job.id] = reason
            await self._peers.refuse(job.id, reason)
        return False

    async def leave(self, job: Job) -> None:
        """Nothing: the engine gives it to others, or a server runs it."""

    async def _why_not(self, root: str, wanted: str) -> str | None:
        servers = await self._peers.server_permissions()
        if permissions_digest(self._shared) not in servers:
            return _OTHER_PERMISSIONS if servers else "No server is there to compare roles and settings with."
        found = await asyncio.to_thread(read_marker, root)
        if found is None:
            return f"The workspace '{root}' is not on this machine, or is not the servers' folder. Mount theirs at this path."
        if found != wanted:
            return f"'{root}' on this machine is another folder than on the servers. Mount theirs at this path."
        return None


_OTHER_PERMISSIONS = (
    "The roles, agents, plugins, sandbox or 'ask' of this worker differ from those of the servers. Copy their config.toml and their"
    " folder of roles."
)


def describe(shared: SharedComponents, *, is_worker: bool) -> PeerDescription:
    """Returns what this process tells the others about itself."""
    kind = "worker" if is_worker else "server"
    return PeerDescription(kind, platform.node(), os.getpid(), __version__, permissions_digest(shared))


def permissions_digest(shared: SharedComponents) -> str:
    """Returns a digest of what decides about calls besides the rules, which are in the database."""
    settings: LiveSettings = shared.live_settings
    roles: list[Json] = [
        {
            "name": role.name,
            "permissions": [*sorted(map(str, role.permissions))],
            "delegates": list(role.delegates),
            "output": str(role.output),
            "prompt": role.prompt,
        }
        for role in sorted(shared.roles.all(), key=lambda role: role.name)
    ]
    known = {
        "roles": roles,
        "agents": sorted((agent.to_json() for agent in settings.agents()), key=lambda agent: str(agent["name"])),
        "sandbox": shared.sandbox_setup.sandbox is not None,
        **settings.permission_settings(),
    }
    return hashlib.sha256(msgspec.json.encode(known, order="sorted")).hexdigest()
