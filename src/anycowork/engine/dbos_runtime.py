"""DBOS Transact as the queue of segments. Importing it takes about a second of CPU time, so that happens when an engine starts.

DBOS's rows hold only the id and number of a segment, as JSON. Its own default, pickle, would let whoever writes to the database run code
here; it is refused for stored rows too.
"""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from anycowork.engine.reconnecting_connection import keepalive_options

APPLICATION_VERSION = "anycowork-segments-1"
"""Our own: the default changes with every release of the program or of DBOS, and runs of the old one would never be taken up."""

QUEUE = "anycowork_segments"
WORKFLOW = "anycowork_segment"
RUNS_PER_WORKER = 4
SegmentRunner = Callable[[str, int], None]


class RefusedPickle(Exception):
    """A row of the database asks for pickle."""


class LostSegment(BaseException):
    """This process has lost the segment, or hands it back: DBOS must record no outcome, so this is no `Exception`."""


class DbosRuntime:
    """The process's only instance of DBOS. Every method blocks."""

    def __init__(self, url: str, *, executor_id: str, takes_runs: bool, polling_seconds: float) -> None:
        self._url = url
        self._executor_id = executor_id
        self._takes_runs = takes_runs
        self._polling_seconds = polling_seconds

    def load(self) -> None:
        """Import DBOS, which takes a while."""
        import dbos

        assert dbos.DBOS is not None

    def launch(self, run_segment: SegmentRunner) -> None:
        """Raises: whatever the database's driver raises."""
        import dbos
        from dbos import _serialization

        # Stored rows name their serializer. Without this, they can name pickle.
        _serialization.DBOSDefaultSerializer = cast(dbos.Serializer, _NoPickle())
        dbos.DBOS(
            config={
                "name": "anycowork",
                "system_database_url": self._url,
                "application_version": APPLICATION_VERSION,
                "executor_id": self._executor_id,
                "serializer": cast(
                    dbos.Serializer, _JsonSerializer()
                ),  # a base class of theirs would be imported with this module
                "sys_db_pool_size": 4,
                "db_engine_kwargs": {"connect_args": keepalive_options(), "pool_pre_ping": True},
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": 0.2,
                "scheduler_polling_interval_sec": 3600.0,
                "log_level": "ERROR",
                "enable_otlp": False,
            }
        )
        dbos.DBOS.workflow(name=WORKFLOW)(_workflow(run_segment))
        dbos.DBOS.listen_queues([QUEUE] if self._takes_runs else [])
        dbos.DBOS.launch()
        dbos.DBOS.register_queue(
            QUEUE,
            worker_concurrency=RUNS_PER_WORKER,
            polling_interval_sec=self._polling_seconds,
            on_conflict="always_update",
        )

    def enqueue(self, run_id: str, number: int) -> None:
        """Again is harmless: the id of a segment is used once."""
        import dbos

        dbos.DBOS.enqueue_workflow_with_options(
            {
                "workflow_name": WORKFLOW,
                "queue_name": QUEUE,
                "workflow_id": workflow_id(run_id, number),
                "app_version": APPLICATION_VERSION,
            },
            run_id,
            number,
        )

    def cancel(self, run_id: str, number: int) -> None:
        """Keep a segment that has not been taken from being started."""
        import dbos

        dbos.DBOS.cancel_workflow(workflow_id(run_id, number))

    def forget(self, run_id: str, segments: int) -> None:
        import dbos

        dbos.DBOS.delete_workflows([workflow_id(run_id, number) for number in range(segments)])

    def destroy(self) -> None:
        import dbos

        dbos.DBOS.destroy(destroy_registry=True)


def workflow_id(run_id: str, number: int) -> str:
    return f"{run_id}:{number}"


def _workflow(run_segment: SegmentRunner) -> SegmentRunner:
    def anycowork_segment(run_id: str, number: int) -> None:
        run_segment(run_id, number)

    return anycowork_segment


class _JsonSerializer:
    """Implements DBOS's `Serializer`. Errors become text: nobody reads them from DBOS's rows."""

    def name(self) -> str:
        return "anycowork_json"

    def serialize(self, data: Any) -> str:
        return msgspec.json.encode(data, enc_hook=str).decode()

    def deserialize(self, serialized_data: str) -> Any:
        return msgspec.json.decode(serialized_data)


class _NoPickle:
    """Stands where DBOS keeps its pickle serializer."""

    def name(self) -> str:
        return "py_pickle"

    def serialize(self, data: Any) -> str:
        """For the error that ends such a row."""
        return msgspec.json.encode(data, enc_hook=str).decode()

    def deserialize(self, serialized_data: str) -> Any:
        raise RefusedPickle(
            "A row of the database asks to be read with pickle, which could run any code. It is not read."
        )
