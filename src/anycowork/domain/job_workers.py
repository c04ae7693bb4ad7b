"""Workers: processes without a web face. Some join a database and run jobs of its chats, others join a server over HTTP and run the
commands of tasks."""

from anycowork.domain.errors import ToolFault
from anycowork.domain.messages import Json
from anycowork.domain.values import value


@value
class JobWorker:
    """A living worker. `jobs` are those that it runs now, `refused` those that it cannot run, each with the reason."""

    id: str
    host: str
    pid: int
    version: str
    joined_at: str
    jobs: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> Json:
        return {
            "labels": [],
            "level": "full",
            "processor": "",
            "tasks": [],
            "cache_bytes": 0,
            "since": self.joined_at,
            "id": self.id,
            "host": self.host,
            "pid": self.pid,
            "version": self.version,
            "joined_at": self.joined_at,
            "jobs": [*self.jobs],
            "refused": [{"job_id": job_id, "reason": reason} for job_id, reason in self.refused],
        }


@value
class TravelSettings:
    """How a workspace travels to joined workers. `setup` is a command that runs there once for each content, before the first command of a
    task; what it makes never comes back. `leave_out` are patterns as in a .gitignore file, which beat the workspace's own: what they
    match stays at home, and what one with `!` matches travels although git ignores it."""

    setup: str = ""
    leave_out: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return {"setup": self.setup or None, "travel": {"leave_out": [*self.leave_out]}}


@value
class JoinedWorker:
    """A worker that joined over HTTP. `level` is that of its sandbox: one without a full one gets no task."""

    id: str
    host: str
    labels: tuple[str, ...]
    level: str
    processor: str
    version: str
    joined_at: str

    @property
    def refusals(self) -> list[str]:
        """Why it gets no task."""
        return [] if self.level == FULL else ["It has no sandbox, so it runs no command of a task."]


FULL = "full"


class WorkerGone(ToolFault):
    """The worker of a task left or was cut off. Nothing of its command was kept, so the same call may be made again."""

    code = "worker_gone"


class WorkspaceChanged(ToolFault):
    """Files changed while they were sent to a worker. The command did not run, so the same call may be made again."""

    code = "workspace_changed"
