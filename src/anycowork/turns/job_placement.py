"""Decides which process runs a job, where several share a database."""

from typing import Protocol

from anycowork.domain.errors import ContentElsewhere
from anycowork.domain.jobs import Job


class JobPlacement(Protocol):
    async def runs_here(self, job: Job) -> bool:
        """Whether this process takes the job on. Raises: StorageFault."""

    async def leave(self, job: Job) -> None:
        """Has the job go on in another process. Raises: StorageFault."""

    async def find_away(self, job: Job) -> ContentElsewhere | None:
        """Returns why the job's changes cannot be reached now; None if they can, or it has none. Raises: StorageFault."""


class LocalPlacement:
    """Runs every job here: no other process could."""

    async def runs_here(self, job: Job) -> bool:
        return True

    async def leave(self, job: Job) -> None:
        return

    async def find_away(self, job: Job) -> ContentElsewhere | None:
        return None
