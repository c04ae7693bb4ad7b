"""A person's save when the process dies between any two writes: the old text or the new one, and never an unfinished record."""

import asyncio
from hashlib import sha256
from pathlib import Path

from anycowork.chats.files.chat_changes import RecordedPathsCache
from anycowork.chats.files.file_edit_service import FileEditService
from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.files.browser import FileBrowser
from anycowork.sandbox.workspaces import Workspaces
from anycowork.workspace import landlock_threads
from faults.test_snapshots import each_death
from support.checkpoints import ANN, CHAT, CLOCK, Recorded, recorded, whole
from support.spec import proves


def edits(server: Recorded) -> FileEditService:
    database, snapshots = server.database, server.snapshots
    workspaces = Workspaces(lambda path: database.leases.take(path, owner="test", seconds=60))
    writer = PersonChangeWriter(
        journal=database.journal,
        store=database.store,
        workspaces=workspaces,
        snapshots=snapshots,
        clock=CLOCK,
        people=database.people,
    )
    return FileEditService(
        store=database.store,
        rules=database.rules,
        workspaces=workspaces,
        snapshots=snapshots,
        browser=FileBrowser(),
        recorded=RecordedPathsCache(database.store),
        writer=writer,
    )


async def save(folder: Path) -> None:
    landlock_threads._pools.cache_clear()  # a forked process has none of the threads that its parent started
    async with recorded(folder) as server:
        await edits(server).save(ANN, CHAT, "a.txt", "edited", expected=sha256(b"new").hexdigest())


async def settled(folder: Path) -> None:
    async with recorded(folder) as server:
        assert await server.database.store.snapshots.unfinished_restores() == []
        assert await server.database.store.audit.verify_chat(CHAT) is None


@proves("UI-10")
def test_a_save_killed_between_any_two_writes_leaves_the_old_or_the_new_text(tmp_path: Path) -> None:
    folders = each_death(tmp_path, lambda folder: asyncio.run(save(folder)))
    old, new = whole(tmp_path / "template" / "workspace"), whole(folders[-1] / "workspace")
    assert new["a.txt"][1] == b"edited" and len(folders) > 5
    outcomes = []
    for folder in folders:
        asyncio.run(settled(folder))
        outcomes.append(whole(folder / "workspace"))
        assert outcomes[-1] in (old, new), folder.name
    assert old in outcomes, "before it was written down nothing had happened"
    assert new in outcomes[:-1], "once it was written down it is finished"
