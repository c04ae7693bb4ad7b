"""DBOS Transact as the queue of segments. Importing it takes about a second of CPU time, so that happens when an engine starts.

DBOS's rows hold only the id and number of a segment, as JSON. Its own default, pickle, would let whoever writes to the database run code
here; it is refused for stored rows too.
"""

import threading
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

APPLICATION_VERSION = "anycowork-segments-1"
"""Our own: the default changes with every release of the program or of DBOS, and runs of the old one would never be taken up."""

QUEUE = "anycowork_segments"
WORKFLOW = "anycowork_segment"
# Two seconds of silence, then two questions a second apart: the database lets go of a worker that was cut off after about four seconds.
_KEEPALIVE = {"idle": 2, "interval": 1, "count": 2}
_USER_TIMEOUT_MS = 4000
CONNECT_SECONDS = 5
SegmentRunner = Callable[[str, int], None]


class RefusedPickle(Exception):
    """A row of the database asks for pickle."""


class LostSegment(BaseException):
    """This process has lost the segment, or hands it back: DBOS must record no outcome, so this is no `Exception`."""


class DbosRuntime:
    """The process's only instance of DBOS. Every method blocks. `session_name` is how PostgreSQL lists its sessions: they are ended with
    the others of a process that hangs. `most_runs` may be lowered at any time."""

    def __init__(
        self, url: str, *, executor_id: str, schema: str, session_name: str, most_runs: int, polling_seconds: float
    ) -> None:
        self._url = url
        self._executor_id = executor_id
        self._schema = schema
        self._session_name = session_name
        self.most_runs = most_runs
        self._polling_seconds = polling_seconds
        self._work_waits = threading.Event()

    def launch(self, run_segment: SegmentRunner) -> None:
        """Raises: whatever the database's driver raises."""
        import dbos
        from dbos import _serialization

        # Stored rows name their serializer. Without this, they can name pickle.
        _serialization.DBOSDefaultSerializer = cast(dbos.Serializer, _NoPickle())
        instance = dbos.DBOS(
            config={
                "name": "anycowork",
                "system_database_url": _libpq_url(self._url),
                "dbos_system_schema": self._schema,
                "application_version": APPLICATION_VERSION,
                "executor_id": self._executor_id,
                "serializer": cast(
                    dbos.Serializer, _JsonSerializer()
                ),  # a base class of theirs would be imported with this module
                "sys_db_pool_size": 4,
                "db_engine_kwargs": {"connect_args": _connect_options(self._session_name), "pool_pre_ping": False},
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": 0.2,
                "scheduler_polling_interval_sec": 3600.0,
                "log_level": "ERROR",
                "enable_otlp": False,
            }
        )
        dbos.DBOS.workflow(name=WORKFLOW)(_workflow(run_segment))
        dbos.DBOS.listen_queues([QUEUE])
        dbos.DBOS.launch()
        self._look_on_demand(instance._sys_db)
        dbos.DBOS.register_queue(QUEUE, polling_interval_sec=self._polling_seconds, on_conflict="always_update")

    def look(self) -> None:
        """Has DBOS look into the queue: something waits there."""
        self._work_waits.set()

    def _look_on_demand(self, system_database: Any) -> None:
        """DBOS asks the database about its queues several times a second, and stores one limit for all workers. Here it asks when something
        waits, what it knows of the queue stays as it is, and every worker has its own limit."""
        read_queue, list_queues = system_database.get_queue, system_database.list_queues
        start_queued = system_database.start_queued_workflows
        queues: dict[str, Any] = {}

        def known_queue(name: str, **options: Any) -> Any:
            queue = queues.get(name) or read_queue(name, **options)
            if queue is not None and name == QUEUE:
                queues[name] = queue
                queue._worker_concurrency = self.most_runs
            return queue

        def started(
            queue: Any, executor_id: str, version: str, part: Any, running: int = 0, *options: Any, **more: Any
        ) -> Any:
            if queue.name != QUEUE or running >= self.most_runs or not self._work_waits.is_set():
                return [], None
            self._work_waits.clear()
            return start_queued(queue, executor_id, version, part, running, *options, **more)

        system_database.get_queue = known_queue
        system_database.list_queues = lambda **options: [*queues.values()] or list_queues(**options)
        system_database.start_queued_workflows = started
        system_database.transition_delayed_workflows = lambda: None  # no run of ours is delayed,
        system_database.cancel_timed_out_workflows = lambda *_: []  # or has a deadline

    def enqueue(self, run_id: str, number: int) -> None:
        """Idempotent: the id of a segment is used once."""
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
        self.look()

    def forget(self, run_id: str, segments: int) -> None:
        import dbos

        dbos.DBOS.delete_workflows([workflow_id(run_id, number) for number in range(segments)])

    def destroy(self) -> None:
        import dbos

        dbos.DBOS.destroy(destroy_registry=True)


def workflow_id(run_id: str, number: int) -> str:
    return f"{run_id}:{number}"


def _libpq_url(url: str) -> str:
    """Returns the URL without the parameters that only the store's driver takes, as `search_path`."""
    from psycopg import pq

    keywords = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    parts = urlsplit(url)
    query = urlencode([(name, text) for name, text in parse_qsl(parts.query) if name in keywords])
    return f"postgresql://{parts.netloc}{parts.path}?{query}"


def _connect_options(session_name: str) -> dict[str, Any]:
    """Returns libpq's connection options that make both sides probe a silent connection."""
    probes = {f"keepalives_{name}": number for name, number in _KEEPALIVE.items()}
    server_options = " ".join(f"-c tcp_keepalives_{name}={number}" for name, number in _KEEPALIVE.items())
    return {
        **probes,
        "application_name": session_name,
        "tcp_user_timeout": _USER_TIMEOUT_MS,
        "connect_timeout": CONNECT_SECONDS,
        "options": f"{server_options} -c tcp_user_timeout={_USER_TIMEOUT_MS}",
    }


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
