"""The shape of workers."""

from anycowork.api.schemas.base import DescribedSchema


class RefusedJobShape(DescribedSchema):
    job_id: str
    reason: str


class WorkerShape(DescribedSchema):
    """`jobs` are those that it runs now, `refused` those that it cannot run."""

    id: str
    host: str
    pid: int
    version: str
    joined_at: str
    jobs: list[str]
    refused: list[RefusedJobShape]


class WorkersShape(DescribedSchema):
    workers: list[WorkerShape]
