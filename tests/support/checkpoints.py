"""A workspace whose every change is imaged and recorded as the tool runner does it, without a model in front: for properties and faults."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from anycowork.chats.files.rollback import RollbackRequest, RollbackResult
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.snapshots import FEW_PATHS, Snapshots
from anycowork.domain.chats import Chat, ChatConfig
from anycowork.domain.errors import ToolFault
from anycowork.domain.journal import AddChat, Change
from anycowork.domain.people import AccessLevel
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.domain.snapshots import ReplacedFile, Snapshot
from anycowork.domain.tools import Call, Intent
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.database import Database
from anycowork.workspace.folder import Folder
from support.stored import CLOCK, opened
from support.tool_workspace import ToolWorkspace

ANN = Principal("ann", PrincipalKind.PERSON, "Ann", AccessLevel.ADMIN)
CHAT = "c1"


@dataclass
class Recorded:
    """`service` is the real one; `change` stands for any changing call."""

    bench: ToolWorkspace
    database: Database
    snapshots: Snapshots
    cli: RollbackService

    @property
    def root(self) -> Path:
        return self.bench.root

    async def begin(self, paths: Sequence[str], *, chat_id: str = CHAT) -> Snapshot:
        call = Call(CLOCK.new_id(), chat_id, "t1", "b1", 0, "a_tool", {})
        before = await self.snapshots.before(call, Folder(str(self.root)), paths)
        await self.database.journal.write(Change(chat_id, (before,)))
        return before

    async def end(self, before: Snapshot) -> Snapshot:
        after = await self.snapshots.after(before, Folder(str(self.root)))
        assert after is not None
        await self.database.journal.write(Change(before.chat_id, (after,)))
        return after

    async def change(self, paths: Sequence[str], effect: Callable[[], object], *, chat_id: str = CHAT) -> Snapshot:
        """The snapshot before."""
        before = await self.begin(paths, chat_id=chat_id)
        effect()
        await self.end(before)
        return before

    async def call(self, tool: str, **parameters: JsonValue) -> bool:
        """False if the tool refused."""
        try:
            prepared = await self.bench.prepare(tool, **parameters)
        except ToolFault:
            return False
        before = await self.begin(prepared.touched)
        await self.bench.run(prepared)
        await self.end(before)
        return True

    async def command(self, words: str) -> Snapshot | None:
        """Really run, in its sandbox; the snapshot before its commit, None if it changed nothing or nothing was kept."""
        taken: list[tuple[Snapshot, Intent]] = []
        left_alone: list[str] = []
        folder = Folder(str(self.root))

        async def intend(intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
            call = Call(CLOCK.new_id(), CHAT, "t1", "b1", 0, "execute_command", {})
            before = await self.snapshots.before_commit(call, folder, intent.paths, replaced)
            await self.database.journal.write(Change(CHAT, (before,)))
            taken.append((before, intent))

        await self.bench.run(
            await self.bench.prepare("execute_command", command=words),
            self.bench.tool_context(intend=intend, committed=left_alone.extend),
        )
        for before, intent in taken:
            after = await self.snapshots.after_commit(before, folder, intent.paths, left_alone)
            assert after is not None
            await self.database.journal.write(Change(CHAT, (after,)))
        return taken[0][0] if taken else None

    async def restore(self, snapshot: Snapshot | str, **requested: object) -> RollbackResult:
        id_ = snapshot if isinstance(snapshot, str) else snapshot.id
        return await self.cli.restore(ANN, CHAT, id_, RollbackRequest(**requested))  # type: ignore[arg-type]  # a test's own words


@asynccontextmanager
async def recorded(
    folder: Path,
    *,
    quota: int = 1 << 30,
    pack: Pack | None = None,
    layer: Layer = Layer.OVERLAY,
    few_paths: int = FEW_PATHS,
    unkept_folders: Sequence[str] = (),
) -> AsyncIterator[Recorded]:
    """Opening the same folder again is a restart; what was left unfinished is then settled."""
    root, outside = folder / "workspace", folder / "outside"
    for each in (root, outside):
        each.mkdir(parents=True, exist_ok=True)
    async with opened(folder / "data") as database:
        if await database.store.chats.find(CHAT) is None:
            chat = Chat(CHAT, "A chat", str(root), ChatConfig("actor"), created_at=CLOCK.now())
            await database.journal.write(Change(CHAT, (AddChat(chat, ANN.label()),)))
            await database.roots.register(str(root), registered_by=ANN.label())
        pack = pack or Pack(folder / "data" / "snapshots")
        workspaces = Workspaces(lambda path: database.leases.take(path, owner="test", seconds=60))
        snapshots = Snapshots(
            pack,
            database.retention,
            CLOCK,
            quota_bytes=quota,
            layers=workspaces.layers,
            few_paths=few_paths,
            unkept_folders=unkept_folders,
        )
        cli = RollbackService(
            journal=database.journal,
            store=database.store,
            workspaces=workspaces,
            snapshots=snapshots,
            clock=CLOCK,
        )
        await cli.settle_after_crash()
        yield Recorded(ToolWorkspace(root, outside, layer=layer), database, snapshots, cli)


def whole(folder: Path) -> Mapping[str, tuple[int, bytes | str | None]]:
    """Everything below: modes, contents, where links lead. `.git` apart."""
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if ".git" in path.relative_to(folder).parts:
            continue
        mode = path.lstat().st_mode
        if path.is_symlink():
            found[name] = (0, str(path.readlink()))
        else:
            found[name] = (mode, path.read_bytes() if path.is_file() else None)
    return found
