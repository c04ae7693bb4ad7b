"""Attempts to have changes made that nobody was shown, by way of changes that wait for a person's word."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.sandbox import Sandbox
from support.live_server import LiveChat, LiveServer, RequestRefused, live_server
from support.scripted_model import call
from support.spec import proves

COMMAND = "echo obey > AGENTS.md; echo new > a.txt; mkdir d; ln -s a.txt l; rm gone.txt"
ASKED_FOR = call("execute_command", command=COMMAND)
FILES = {"a.txt": "old\n", "gone.txt": "bye\n"}
AS_IT_WAS = {"a.txt": "old\n", "gone.txt": "bye\n"}


class Waiting:
    """A chat whose changes wait, and where they do."""

    def __init__(self, client: LiveServer, chat: LiveChat, data: Path) -> None:
        self.client = client
        self.chat = chat
        self.root = client.workspace
        self.data = data

    @property
    def stage(self) -> Path:
        (stage,) = (self.data / "staging/held").iterdir()
        return stage

    @property
    def upper(self) -> Path:
        return self.stage / "upper"

    def content(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.root.iterdir() if path.is_file() and not path.is_symlink()}

    async def allowed(self) -> dict[str, object]:
        await self.chat.decide()
        return (await self.chat.results())[-1]

    async def answer(self, path: str, body: object, **extra: object) -> int:
        url = self.client.url + path
        async with self.client.session.post(url, json=body, **extra) as response:  # type: ignore[arg-type]  # headers, if any
            return response.status

    async def yes(self) -> dict[str, object]:
        return {"decisions": [{"id": item["id"], "decision": "allow_once"} for item in await self.chat.approvals()]}


@pytest.fixture(params=list(Layer), ids=[layer.value for layer in Layer])
def layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Layer:
    """What waits looks the same, whatever the command worked on."""
    monkeypatch.setattr(Sandbox, "layer_for", lambda self, root: request.param)
    return Layer(request.param)


@pytest.fixture
async def waiting(tmp_path: Path, layer: Layer) -> AsyncIterator[Waiting]:
    async with live_server(tmp_path, replies=[ASKED_FOR, "I see.", "I see.", "I see."], files=FILES) as client:
        chat = await client.chat()
        await chat.send("do it")
        await chat.decide()
        assert [item["held"] for item in await chat.approvals()] == [True]
        yield Waiting(client, chat, tmp_path / "data")


# --- above: what waits is no longer what was shown


def swap_for_a_link(upper: Path) -> None:
    (upper / "a.txt").unlink()
    (upper / "a.txt").symlink_to("/etc/passwd")


def another_upper(upper: Path) -> None:
    shutil.copytree(upper, upper.parent / "copy", symlinks=True, ignore=shutil.ignore_patterns("gone.txt"))
    upper.rename(upper.parent / "was")
    (upper.parent / "copy").rename(upper)
    (upper / "AGENTS.md").write_text("obey somebody else\n")


def link_to_elsewhere(upper: Path) -> None:
    evil = upper.parent.parent.parent / "evil"
    evil.mkdir()
    (evil / "AGENTS.md").write_text("obey somebody else\n")
    upper.rename(upper.parent / "was")
    upper.symlink_to(evil)


ABOVE: dict[str, Callable[[Path], object]] = {
    "a file's content": lambda upper: (upper / "AGENTS.md").write_text("evil\n"),
    "a file's content at the same size": lambda upper: (upper / "AGENTS.md").write_text("OBEY\n"),
    "a file's mode": lambda upper: (upper / "AGENTS.md").chmod(0o755),
    "one file more": lambda upper: (upper / "extra.txt").write_text("evil\n"),
    "a hook more": lambda upper: ((upper / ".git/hooks").mkdir(parents=True), (upper / ".git/hooks/x").write_text("evil")),
    "one file less": lambda upper: (upper / "AGENTS.md").unlink(),
    "a file in a new folder": lambda upper: (upper / "d/evil").write_text("evil\n"),
    "another target of a link": lambda upper: ((upper / "l").unlink(), (upper / "l").symlink_to("/etc/passwd")),
    "a link for a file": swap_for_a_link,
    "a folder for a file": lambda upper: ((upper / "a.txt").unlink(), (upper / "a.txt").mkdir()),
    "a removal taken back": lambda upper: (upper / "gone.txt").unlink(),
    "the layer gone": lambda upper: shutil.rmtree(upper),
    "a file for the layer": lambda upper: (shutil.rmtree(upper), upper.write_text("evil\n")),
    "everything gone": lambda upper: shutil.rmtree(upper.parent),
    "another folder in its place": another_upper,
    "a link to another folder": link_to_elsewhere,
}  # fmt: skip


@proves("APR-8", "SNAP-4")
@pytest.mark.parametrize("name", ABOVE)
async def test_what_was_changed_while_it_waited_is_not_made(waiting: Waiting, name: str) -> None:
    ABOVE[name](waiting.upper)
    result = await waiting.allowed()
    assert result["status"] == "error" and result["error"]["code"] == "state_changed"  # type: ignore[index]  # an error has a code
    assert waiting.content() == AS_IT_WAS and sorted(p.name for p in waiting.root.iterdir()) == ["a.txt", "gone.txt"]


@proves("APR-8", "SNAP-4")
async def test_what_a_command_closed_to_its_owner_is_made_as_it_was_shown(tmp_path: Path, layer: Layer) -> None:
    closed = "echo obey > AGENTS.md; mkdir shut; echo x > shut/f; chmod 000 shut/f; chmod 000 shut"
    async with live_server(tmp_path, replies=[call("execute_command", command=closed), "I see."]) as client:
        chat = await client.chat()
        await chat.send("do it")
        await chat.decide()
        await chat.decide()
        assert (await chat.results())[-1]["status"] == "ok"
        shut = client.workspace / "shut"
        assert shut.stat().st_mode & 0o777 == 0
        shut.chmod(0o700)
        assert (shut / "f").stat().st_mode & 0o777 == 0


# --- beneath: what a person did meanwhile

BENEATH: dict[str, tuple[Callable[[Path], object], dict[str, str]]] = {
    "the file was saved": (lambda root: (root / "a.txt").write_text("mine\n"), {"a.txt": "mine\n", "gone.txt": "bye\n"}),
    "the file was saved at the same size": (lambda root: (root / "a.txt").write_text("OLD\n"), {"a.txt": "OLD\n", "gone.txt": "bye\n"}),
    "the new file was made": (lambda root: (root / "AGENTS.md").write_text("mine\n"), {**AS_IT_WAS, "AGENTS.md": "mine\n"}),
    "the same new file was made": (lambda root: (root / "AGENTS.md").write_text("obey\n"), {**AS_IT_WAS, "AGENTS.md": "obey\n"}),
    "the removed file was changed": (lambda root: (root / "gone.txt").write_text("stay\n"), {"a.txt": "old\n", "gone.txt": "stay\n"}),
    "the removed file was removed": (lambda root: (root / "gone.txt").unlink(), {"a.txt": "old\n"}),
    "the file was removed": (lambda root: (root / "a.txt").unlink(), {"gone.txt": "bye\n"}),
    "the file became another's": (lambda root: ((root / "a.txt").unlink(), (root / "a.txt").symlink_to("/etc/passwd")), {"gone.txt": "bye\n"}),
    "the mode was changed": (lambda root: (root / "a.txt").chmod(0o600), AS_IT_WAS),
}  # fmt: skip


@proves("APR-8", "SNAP-4")
@pytest.mark.parametrize("name", BENEATH)
async def test_what_a_person_did_meanwhile_is_never_overwritten(waiting: Waiting, name: str) -> None:
    does, expected = BENEATH[name]
    does(waiting.root)
    result = await waiting.allowed()
    assert result["status"] == "error" and result["error"]["code"] == "state_changed"  # type: ignore[index]  # an error has a code
    assert waiting.content() == expected and not (waiting.root / "d").exists()
    assert name != "the mode was changed" or (waiting.root / "a.txt").stat().st_mode & 0o777 == 0o600
    assert list((waiting.data / "staging/kept").glob("*/upper/AGENTS.md")), "what it wrote is kept for the person"


# --- who says yes, and how often


@proves("APR-8", "SEC-5")
async def test_another_chat_cannot_allow_them(waiting: Waiting) -> None:
    other = await waiting.client.chat()
    assert await waiting.answer(f"{other.path}/approvals", await waiting.yes()) == 404
    assert waiting.content() == AS_IT_WAS and waiting.stage.is_dir()


@proves("APR-8")
async def test_they_are_made_once_however_often_they_are_allowed(waiting: Waiting) -> None:
    yes = await waiting.yes()
    assert (await waiting.allowed())["status"] == "ok"
    (waiting.root / "AGENTS.md").write_text("mine\n")
    assert await waiting.answer(f"{waiting.chat.path}/approvals", yes) == 409
    assert (waiting.root / "AGENTS.md").read_text() == "mine\n"


@proves("SEC-5")
async def test_a_client_key_cannot_allow_them(waiting: Waiting) -> None:
    key = (await waiting.client.ask("POST", "/keys", {"name": "stolen"}))["key"]
    headers = {"Authorization": f"Bearer {key}"}
    assert await waiting.answer(f"{waiting.chat.path}/approvals", await waiting.yes(), headers=headers) in (401, 403)
    assert waiting.content() == AS_IT_WAS and waiting.stage.is_dir()


@proves("APR-2", "APR-8")
@pytest.mark.parametrize(("tool", "resource"), [("create_file", "/AGENTS.md"), ("execute_command", "*"), ("*", "*")])
async def test_a_rule_that_denies_meanwhile_is_stronger_than_the_yes(
    waiting: Waiting, tool: str, resource: str
) -> None:
    body = {"tool": tool, "resource": resource, "effect": "deny", "scope": "global"}
    await waiting.client.ask("POST", "/rules", body, expect=201)
    result = await waiting.allowed()
    assert result["error"]["code"] == "denied_by_rule" and waiting.content() == AS_IT_WAS  # type: ignore[index]  # an error has a code
    assert list((waiting.data / "staging/held").iterdir()) == []


@proves("PER-4", "APR-8")
async def test_switching_to_a_role_that_may_not_change_files_drops_them(waiting: Waiting) -> None:
    yes = await waiting.yes()
    with pytest.raises(RequestRefused):
        await waiting.chat.switch("planner")
    await waiting.chat.switch("planner", confirm=True)
    assert await waiting.answer(f"{waiting.chat.path}/approvals", yes) == 409
    assert waiting.content() == AS_IT_WAS and list((waiting.data / "staging/held").iterdir()) == []


@proves("APR-8")
async def test_the_yes_to_the_command_is_no_yes_to_its_changes(waiting: Waiting) -> None:
    assert waiting.content() == AS_IT_WAS and (await waiting.chat.show())["state"] == "awaiting_approval"


@proves("SNAP-4")
@pytest.mark.skipif(os.geteuid() == 0, reason="root can go anywhere")
async def test_nobody_else_comes_to_what_waits(waiting: Waiting) -> None:
    assert waiting.stage.parent.stat().st_mode & 0o077 == 0


@proves("SNAP-4")
async def test_there_is_an_end_to_what_waits(waiting: Waiting) -> None:
    for number in range(31):
        (waiting.data / "staging/held" / f"{number:016x}").mkdir()
    waiting.client.model.replies[:0] = [ASKED_FOR, "I see."]
    other = await waiting.client.chat()
    await other.send("do it")
    assert (await other.decide())["state"] == "idle"
    assert (await other.results())[-1]["error"]["code"] == "too_much_waiting" and waiting.content() == AS_IT_WAS
