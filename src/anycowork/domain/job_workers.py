"""Workers: processes without a web face that join a database and run jobs of its chats."""

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
            "id": self.id,
            "host": self.host,
            "pid": self.pid,
            "version": self.version,
            "joined_at": self.joined_at,
            "jobs": [*self.jobs],
            "refused": [{"job_id": job_id, "reason": reason} for job_id, reason in self.refused],
        }
