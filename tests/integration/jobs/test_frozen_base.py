"""A task of a job keeps seeing the workspace that it started from, whoever else of AnyCowork writes there while it runs."""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from support.jobs import TIMEOUT, Answers, approved, by_task, plan, report, until
from support.live_server import Json, LiveChat, LiveServer, live_server
from support.person_commands import run as run_own_command
from support.scripted_model import Answer, Reply, call
from support.spec import proves

LINES = "".join(f"line {number}\n" for number in range(1, 31))
FILES = {
    name: f"{name} as it was\n"
    for name in (
        "tool/edited.txt",
        "tool/gone.txt",
        "tool/folder/moved.txt",
        "command/edited.txt",
        "command/gone/deep/x.txt",
        "person/edited.txt",
        "back/later_gone/x.txt",
        "git/tracked.txt",
        "shell/edited.txt",
        "shell/gone/deep/x.txt",
        "shell.txt",
        "sub/edited.txt",
    )
} | {"both.txt": LINES, "same.txt": "title: draft\n", "hunks.txt": LINES}
# All files with their contents, all folders, and what git knows: as a command of the task sees them.
SHOW = (
    "find . -path ./.git/objects -prune -o -type d -print | LC_ALL=C sort;"
    " find . -path ./.git/objects -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum"
)
Writer = Callable[["Scene"], Awaitable[None]]


class Scene:
    """A workspace with two chats beside the job's: an agent works in one, a person in the other."""

    def __init__(self, client: LiveServer, agent: LiveChat, person: LiveChat, others: list[str]) -> None:
        self.client = client
        self.agent = agent
        self.person = person
        self._others = others
        self.snapshot = ""

    async def by_agent(self, *calls: str) -> None:
        """The other chat's agent makes these calls."""
        self._others[:] = [*calls, "Done."]
        before = len(await self.agent.results())
        await self.agent.send("Do it.")
        made = (await self.agent.results())[before:]
        assert [one["status"] for one in made] == ["ok"] * len(calls), made

    async def save(self, path: str, text: str, chat: LiveChat | None = None) -> Json:
        shown = await self.client.ask("GET", f"{(chat or self.person).path}/file?path={path}")
        body = {"path": path, "text": text, "sha256": shown["sha256"]}
        return await self.client.ask("PUT", f"{(chat or self.person).path}/file", body)


async def an_agents_file_tools(scene: Scene) -> None:
    await scene.by_agent(
        call("read_file", path="tool/edited.txt"),
        call("update_file", path="tool/edited.txt", edits=[{"find": "was", "replace": "is"}]),
        call("read_file", path="tool/gone.txt"),
        call("delete_file", path="tool/gone.txt"),
        call("move_file", path="tool/folder", to="tool/elsewhere"),
        call("create_file", path="tool/new/n.txt", content="new\n"),
    )


async def an_agents_command(scene: Scene) -> None:
    words = (
        "echo more >> command/edited.txt; rm -r command/gone; mkdir command/new; echo n > command/new/n; ln -s x top"
    )
    await scene.by_agent(call("execute_command", command=words))


async def a_persons_edit(scene: Scene) -> None:
    await scene.save("person/edited.txt", "by a person\n")
    new = {"path": "person/new/in.txt", "text": "new\n", "sha256": None}
    await scene.client.ask("PUT", f"{scene.person.path}/file", new)
    await scene.save("both.txt", LINES.replace("line 29\n", "line 29 of a person\n"))
    await scene.save("same.txt", "title: of a person\n")


async def a_persons_edit_in_a_chat_of_a_folder_inside(scene: Scene) -> None:
    inner = await scene.client.chat(workspace=str(scene.client.workspace / "sub"))
    await scene.save("edited.txt", "from inside\n", inner)


async def a_reverted_hunk(scene: Scene) -> None:
    shown = await scene.client.ask("GET", f"{scene.agent.path}/changes/file?path=hunks.txt")
    body = {"path": "hunks.txt", "state": shown["state"], "hunks": [0]}
    await scene.client.ask("POST", f"{scene.agent.path}/changes/revert", body)


async def a_restore(scene: Scene) -> None:
    """Takes back what the other chat did before the task started: it made a folder and removed one."""
    done = await scene.client.ask("POST", f"{scene.agent.path}/snapshots/{scene.snapshot}/restore", {"only": True})
    assert done["restored"] and done["deleted"], done


async def a_git_commit_and_a_branch(scene: Scene) -> None:
    state = await scene.client.ask("GET", f"{scene.person.path}/git")
    body = {"message": "Of a person", "paths": ["git/tracked.txt"], "head": state["head"]}
    await scene.client.ask("POST", f"{scene.person.path}/git/commit", body)
    await scene.client.ask("POST", f"{scene.person.path}/git/branch", {"name": "feature/x"})


async def a_persons_own_command(scene: Scene) -> None:
    words = "echo more >> shell/edited.txt; rm -r shell/gone; mkdir shell/new; echo n > shell/new/n; rm shell.txt; echo n > top2"
    done = await run_own_command(scene.person, f"{words}; git commit -qam 'in the terminal'")
    assert done["exit_code"] == 0, done


async def a_switch_of_the_branch(scene: Scene) -> None:
    """To the commit before the one that was made in the terminal."""
    await scene.client.ask("POST", f"{scene.person.path}/git/switch", {"branch": "main"})


async def a_switch_back(scene: Scene) -> None:
    await scene.client.ask("POST", f"{scene.person.path}/git/switch", {"branch": "feature/x"})


WRITERS: tuple[Writer, ...] = (
    an_agents_file_tools,
    an_agents_command,
    a_persons_edit,
    a_persons_edit_in_a_chat_of_a_folder_inside,
    a_reverted_hunk,
    a_restore,
    a_git_commit_and_a_branch,
    a_persons_own_command,
    a_switch_of_the_branch,
    a_switch_back,
)


@proves("JOB-10")
async def test_task_keeps_seeing_what_it_started_from_whoever_writes_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _give_git_a_name(tmp_path, monkeypatch)
    gates, reached = ([asyncio.Event() for _ in range(len(WRITERS) + 1)] for _ in range(2))

    def look(number: int) -> Answer:
        reached[number].set()
        return Reply(call("execute_command", command=SHOW), hold=gates[number])

    answers: Answers = {"t": [partial(look, number) for number in range(len(gates))]}
    edits = {"both.txt": ("line 2\n", "line 2 of the task\n"), "same.txt": ("draft", "of the task")}
    for path, (find, new) in edits.items():
        answers["t"] += [call("update_file", path=path, edits=[{"find": find, "replace": new}])]
    read = ["tool/edited.txt", "command/gone/deep/x.txt", "shell/gone/deep/x.txt", "person/edited.txt"]
    answers["t"] += [*(call("read_file", path=path) for path in read), report("looked")]
    others: list[str] = []
    async with live_server(tmp_path, files=FILES, max_steps=30) as client:
        scene = await _scene(client, answers, others)
        seen = _shown(client.workspace)
        chat = await client.chat()
        step = {"id": "t", "action": "look", "paths": [*edits], "commands": [SHOW]}
        job = await approved(client, chat, plan=plan(step), parallel=2)
        for number, writer in enumerate(WRITERS):
            await asyncio.wait_for(reached[number].wait(), TIMEOUT)
            before = _shown(client.workspace)
            await writer(scene)
            assert _shown(client.workspace) != before, f"{writer.__name__} writes in the workspace"
            gates[number].set()
            await asyncio.wait_for(reached[number + 1].wait(), TIMEOUT)
            result = (await chat.of_type("tool_result"))[-1]["content"]
            shown = [line for line in result.splitlines() if "./" in line]
            assert shown == seen, f"{writer.__name__} shows through: {set(shown) ^ set(seen)}"
        gates[-1].set()
        assert (await chat.rest())["state"] == "awaiting_answer"
        results = (await chat.of_type("tool_result"))[-len(read) :]
        assert all("as it was" in one["content"] for one in results), results
        question = (await chat.of_type("question"))[-1]
        assert question["payload"]["conflict"]["path"] == "same.txt"
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "task"})
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        assert (client.workspace / "same.txt").read_text() == "title: of the task\n"
        merged = LINES.replace("line 29\n", "line 29 of a person\n").replace("line 2\n", "line 2 of the task\n")
        assert (client.workspace / "both.txt").read_text() == merged
        assert not list((tmp_path / "data").glob("**/copies/*"))


async def _scene(client: LiveServer, answers: Answers, others: list[str]) -> Scene:
    client.model.mind = by_task(answers, lambda told: others.pop(0))
    rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
    await client.ask("POST", "/rules", rule, expect=201)
    scene = Scene(client, await client.chat(), await client.chat(), others)
    _git(client.workspace, "init", "-q", "-b", "main")
    _git(client.workspace, "add", "-A")
    _git(client.workspace, "commit", "-qm", "first")
    edits = [{"find": f"line {number}\n", "replace": f"LINE {number}\n"} for number in (2, 28)]
    await scene.by_agent(
        call("read_file", path="hunks.txt"),
        call("update_file", path="hunks.txt", edits=edits),
        call("execute_command", command="mkdir -p back/made; echo x > back/made/m.txt; rm -r back/later_gone"),
    )
    listed = (await client.ask("GET", f"{scene.agent.path}/snapshots"))["snapshots"]
    scene.snapshot = [one["id"] for one in listed if one["moment"] == "before"][-1]
    (client.workspace / "git/tracked.txt").write_text("changed before the task\n")
    return scene


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, timeout=60, check=True)


def _give_git_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home := tmp_path / "home").mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = A Person\n\temail = person@example.org\n[safe]\n\tdirectory = *\n"
    )
    monkeypatch.setenv("HOME", str(home))


def _shown(folder: Path) -> list[str]:
    environment = {"PATH": os.environ["PATH"]}
    shown = subprocess.run(
        ["bash", "-c", SHOW], cwd=folder, env=environment, capture_output=True, timeout=60, check=True
    )
    return [line for line in shown.stdout.decode().splitlines() if "./" in line]
