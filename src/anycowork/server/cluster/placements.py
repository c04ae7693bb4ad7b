"""Says which jobs a process runs, where servers and workers share a database. Workers run approved jobs; servers run all others.

A job whose tasks work in private copies stays on a server: people review and keep what lies in its data folder.
"""

import asyncio
import hashlib
import logging
import math
import os
import platform
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from anycowork import __version__
from anycowork.domain.errors import ContentElsewhere
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.messages import Json
from anycowork.server.cluster.job_runs import JobRuns
from anycowork.server.live_settings import LiveSettings
from anycowork.server.setup.shared_components import SharedComponents
from anycowork.store.sql.store import Store

if TYPE_CHECKING:
    from anycowork.store.postgres.peer_table import PeerDescription, PeerTable

CHECKED_SECONDS = (
    1.0  # for so long a worker goes on with what it compared: servers say what they have every five seconds
)
FOR_WORKERS = (JobStatus.RUNNING, JobStatus.PAUSED)
log = logging.getLogger(__name__)


class ServerPlacement:
    """Leaves a running job to the workers if one of them can run it. They get it through the engine."""

    def __init__(self, peers: "PeerTable", store: Store, runs: JobRuns) -> None:
        self._peers = peers
        self._store = store
        self._runs = runs

    async def runs_here(self, job: Job) -> bool:
        if await self._is_elsewhere(job):
            return False
        if job.status is not JobStatus.RUNNING or job.isolates:
            return True
        if not await self._peers.has_worker_for(job.id):
            return True
        chat = await self._store.chats.find_row(job.chat_id)
        return chat is None or not await self._mark(chat.workspace)

    async def _is_elsewhere(self, job: Job) -> bool:
        """Tells whether the job goes on only where its layers are. Of a job that merges task by task only unfinished attempts are lost with
        them, so it goes on without a server that is gone."""
        if job.data_folder in (None, self._peers.data_folder):
            return False
        data_folder = await self._peers.find_data_folder(job.data_folder)
        return job.collects or (data_folder is not None and data_folder.is_in_use)

    async def leave(self, job: Job) -> None:
        if not job.isolates:  # else the server that has its layers sees that it can go on
            await self._runs.go_on(job)

    async def find_away(self, job: Job) -> ContentElsewhere | None:
        return await find_away(self._peers, job)

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

    def __init__(self, peers: "PeerTable", store: Store, shared: SharedComponents) -> None:
        self._peers = peers
        self._store = store
        self._shared = shared
        self._refused: dict[str, str] = {}
        self._servers: frozenset[str] = frozenset()
        self._fits_until: dict[str, float] = {}  # by workspace

    async def runs_here(self, job: Job) -> bool:
        if job.status not in FOR_WORKERS or job.isolates:
            return False
        chat = await self._store.chats.find_row(job.chat_id)
        if chat is None:
            return False
        if job.id not in self._refused and time.monotonic() < self._fits_until.get(chat.workspace, -math.inf):
            return True
        marker, servers = await self._peers.of_servers(chat.workspace)
        if marker is None:
            return False  # a server marks the workspace first
        reason = await self._why_not(chat.workspace, marker, servers)
        if reason is None:
            self._fits_until[chat.workspace] = time.monotonic() + CHECKED_SECONDS
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

    async def find_away(self, job: Job) -> ContentElsewhere | None:
        return await find_away(self._peers, job)

    async def _why_not(self, root: str, expected_marker: str, living: frozenset[str]) -> str | None:
        # While no server is there, what the last ones said holds: the work that they gave out goes on.
        self._servers = servers = living or self._servers
        if permissions_digest(self._shared) not in servers:
            return _OTHER_PERMISSIONS if servers else "No server has been there to compare roles and settings with."
        marker = await asyncio.to_thread(read_marker, root)
        if marker is None:
            return f"The workspace '{root}' is not on this machine, or is not the servers' folder. Mount theirs at this path."
        if marker != expected_marker:
            return f"'{root}' on this machine is another folder than on the servers. Mount theirs at this path."
        return None


async def find_away(peers: "PeerTable", job: Job) -> ContentElsewhere | None:
    """Returns why the job cannot go on: the server whose data folder has its changes does not run."""
    if job.data_folder in (None, peers.data_folder) or not job.collects:
        return None
    data_folder = await peers.find_data_folder(job.data_folder)
    if data_folder is not None and data_folder.is_in_use:
        return None
    where = f"on {data_folder.host} ({data_folder.folder})" if data_folder is not None else "that is not known any more"
    return ContentElsewhere(
        f"The changes of this job are in the data folder of a server {where}, which does not run. Start that server and try again; or drop"
        " or cancel the job, which gives its changes up."
    )


_OTHER_PERMISSIONS = (
    "The roles, agents, plugins, sandbox or 'ask' of this worker differ from those of the servers. Copy their config.toml and their"
    " folder of roles."
)


def describe(shared: SharedComponents, *, is_worker: bool) -> "PeerDescription":
    """Returns what this process tells the others about itself."""
    from anycowork.store.postgres.peer_table import PeerDescription  # only who has others pays for the driver

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
    definitions = {
        "roles": roles,
        "agents": sorted((agent.to_json() for agent in settings.agents()), key=lambda agent: str(agent["name"])),
        "sandbox": shared.sandbox_setup.sandbox is not None,
        **settings.permission_settings(),
    }
    return hashlib.sha256(msgspec.json.encode(definitions, order="sorted")).hexdigest()


FOLDER, FILE = ".anycowork", "workspace-id"
_ID_LENGTH = 32
_DIGITS = frozenset("0123456789abcdef")


def write_marker(root: str) -> str | None:
    """Returns the workspace's id, which is new if it had none; None if there can be none. Blocking."""
    try:
        with _folder(root) as parent:
            with suppress(FileExistsError):
                os.mkdir(FOLDER, mode=0o755, dir_fd=parent)
            with _folder(FOLDER, parent) as folder:
                if (marker := _read(folder)) is not None:
                    return marker
                return _write(folder)
    except OSError:
        return None


def read_marker(root: str) -> str | None:
    """Returns the workspace's id; None if the folder or its marker is not there. Blocking."""
    try:
        with _folder(root) as parent, _folder(FOLDER, parent) as folder:
            return _read(folder)
    except OSError:
        return None


@contextmanager
def _folder(path: str, parent: int | None = None) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def _read(folder: int) -> str | None:
    """Returns None for what is no marker. Raises: OSError."""
    try:
        fd = os.open(FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        text = os.read(fd, _ID_LENGTH + 2) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
    marker = text.decode("ascii", "replace").removesuffix("\n")
    return marker if len(marker) == _ID_LENGTH and _DIGITS.issuperset(marker) else None


def _write(folder: int) -> str:
    """Raises: OSError, also if something else has the name."""
    marker = secrets.token_hex(_ID_LENGTH // 2)
    fd = os.open(FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        os.write(fd, f"{marker}\n".encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    return marker
