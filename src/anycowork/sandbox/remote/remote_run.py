"""One command that runs on a joined worker, and a worker that lives. Values and state; `remote_runs.py` says what happens to them."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.domain.job_workers import JoinedWorker, TravelSettings
from anycowork.domain.values import value
from anycowork.sandbox.remote.tree_manifest import TreeEntry
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath


@value
class RemoteCommand:
    """What is to run. `root` is where the command sees its workspace; `job_id` names the job that its task belongs to."""

    command: str
    root: str
    seconds: float
    output: int
    job_id: str = ""


@value
class RemoteResult:
    how: str
    exit_code: int
    output: bytes
    seconds: float


@dataclass(slots=True, eq=False)
class RemoteRun:
    id: str
    worker_id: str
    command: RemoteCommand
    jail: Jail
    spool: Path
    entries: Mapping[str, TreeEntry]
    on_output: Callable[[bytes], None] | None
    done: asyncio.Future[RemoteResult]
    travel: TravelSettings
    setup_key: str = ""
    by_hash: dict[str, WorkspacePath] = field(default_factory=dict)
    """Filled when the worker asks for the first content."""
    sent: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The state of each file whose content was sent, in pieces or whole, as it was then."""
    contents: dict[str, Path] = field(default_factory=dict)
    changes: list[TreeEntry] = field(default_factory=list)
    received: int = 0
    taken: bool = False


@dataclass(slots=True, eq=False)
class LiveWorker:
    worker: JoinedWorker
    seen_at: float
    cache_bytes: int = 0
    requests: int = 0
    """How often it has asked for a command."""
    wakes: asyncio.Event = field(default_factory=asyncio.Event)
    runs: dict[str, RemoteRun] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    manifests: dict[str, Mapping[str, TreeEntry]] = field(default_factory=dict)
    """The trees that it was told of, by run: of the next one it is told what differs."""
    fault: str = ""
    fault_ends: float = 0.0

    @property
    def refusals(self) -> list[str]:
        """Why it gets no task now."""
        now = asyncio.get_running_loop().time()
        return [*self.worker.refusals, *([self.fault] if now < self.fault_ends else [])]
