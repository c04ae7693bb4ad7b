"""A person's commit when the process dies around it: the next start says whether it was made, once, and the repository is usable."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from anycowork.chats.files.chat_changes import RecordedPathsCache
from anycowork.chats.files.git_service import GitService
from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.domain.git import CommitContent
from anycowork.git import git_process
from anycowork.git.commits import CommitIntentFiles
from anycowork.git.hooks import AllowedHooks
from anycowork.git.repositories import GitRepositories
from anycowork.sandbox.workspaces import Workspaces
from anycowork.tools.person_terminal import PersonShell
from faults.test_snapshots import in_a_child
from support.checkpoints import ANN, CHAT, CLOCK, Recorded, recorded
from support.spec import proves

USER = {"name": "Ann", "email": "ann@example.org"}


def git_service(server: Recorded, folder: Path) -> GitService:
    database = server.database
    workspaces = Workspaces(lambda path: database.leases.take(path, owner="test", seconds=60))
    return GitService(
        store=database.store,
        rules=database.rules,
        journal=database.journal,
        workspaces=workspaces,
        repositories=GitRepositories(lambda: USER, os.environ, folder / "elsewhere", workspaces.layers),
        writer=PersonChangeWriter(
            journal=database.journal,
            store=database.store,
            workspaces=workspaces,
            snapshots=server.snapshots,
            clock=CLOCK,
            people=database.people,
        ),
        clock=CLOCK,
        intents=CommitIntentFiles(folder / "data"),
        recorded=RecordedPathsCache(database.store),
        hooks=AllowedHooks(folder / "data"),
        shell=PersonShell(bubblewrap=None, data_dir=folder / "data", environ={}, seconds=60.0),
        refused="no commands here",
    )


def die(*_: object, **__: object) -> None:
    os._exit(9)


def before_the_branch_moves() -> None:
    GitRepositories.finish_commit = die  # type: ignore[method-assign,assignment]  # in a child that ends


def before_the_index_is_written() -> None:
    git_process.os.ftruncate = die  # type: ignore[attr-defined,assignment]


def before_the_result_is_recorded() -> None:
    GitService._record_result = die  # type: ignore[method-assign,assignment]


def after_the_result_is_recorded() -> None:
    CommitIntentFiles.remove = die  # type: ignore[method-assign,assignment]


DEATHS: dict[Callable[[], None], bool] = {
    before_the_branch_moves: False,
    before_the_index_is_written: True,
    before_the_result_is_recorded: True,
    after_the_result_is_recorded: True,
}


async def commit(folder: Path) -> None:
    async with recorded(folder) as server:
        service = git_service(server, folder)
        state = await service.state(ANN, CHAT)
        await service.commit(ANN, CHAT, CommitContent("Of Ann", ["a.txt"]), head=state.state.head)


async def settled(folder: Path, *, is_made: bool) -> None:
    for _ in range(2):  # the second start finds nothing left
        async with recorded(folder) as server:
            await git_service(server, folder).settle_after_crash()
            told = [
                page.payload["git"] for page in await server.database.store.messages.first(CHAT, 10) if page.payload
            ]
            assert [key for one in told for key in ("intended_commit", "commit") if key in one] == [
                "intended_commit",
                "commit",
            ]
            assert told[1]["commit"] == (told[0]["intended_commit"] if is_made else None)
    assert git(folder, "log", "--format=%s").split() == (["Of", "Ann", "first"] if is_made else ["first"])
    assert git(folder, "status", "--porcelain") == " M a.txt\n", (
        f"{folder.name}: nothing is staged, and git is not locked"
    )


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "safe.directory=*")
    command = ["git", *identity, *words]
    done = subprocess.run(command, cwd=folder / "workspace", capture_output=True, timeout=60, check=True)
    return done.stdout.decode()


@proves("UI-10")
def test_commit_that_a_crash_cut_off_is_settled_at_the_next_start(tmp_path: Path) -> None:
    for arrange, is_made in DEATHS.items():
        folder = tmp_path / arrange.__name__
        (folder / "workspace").mkdir(parents=True)
        file = folder / "workspace" / "a.txt"
        file.write_text("old\n")
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
        file.write_text("the new text\n")

        def run(folder: Path = folder, arrange: Callable[[], None] = arrange) -> None:
            arrange()
            asyncio.run(commit(folder))

        assert in_a_child(run) == 9
        file.write_text("a newer text, of another length\n")  # somebody works on
        asyncio.run(settled(folder, is_made=is_made))
