"""A plan, reply, file or message of hostile size never holds the event loop long: other chats and people get their turn in between.

Every callback of the loop is measured in CPU time of its thread, and compared with a reference piece of work on the same machine: the
reference takes about 12.5 ms on a quiet one, and a callback may take four times as long, which is the promised 50 ms. The model answers
from a thread of its own, and what the tests send is made beforehand, so the loop carries the server's work and hardly anything else.
"""

import asyncio
import gc
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from anycowork.agent.expectations import clause_kinds, of_request
from anycowork.agent.mentions import Mention, MentionKind, mentions_in
from anycowork.agent.request_paths import paths_in
from anycowork.api.application import create_api
from anycowork.app import start_services
from anycowork.config.settings import ProviderEntry, Settings
from anycowork.domain.rules import ChangesDecision
from anycowork.domain.tools import PathIntent
from anycowork.mcp.answer_limits import has_too_many_values
from support.asgi import Client
from support.scripted_model import Answer, Reply, ScriptedModel, call, serve_in_thread
from support.stored import put_fresh_database
from support.tool_workspace import ToolWorkspace

TOKEN = "a-token-for-tests-0123456789abcdef"
TIMES = 4
JSON = {"content-type": "application/json"}
RESTS = (b"event: turn-ended", b"event: permission-request")


class LoopSlices:
    """The longest callback of this thread's loops since the last look, in multiples of the reference."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._run = asyncio.events.Handle._run
        self._longest = 0.0
        self._reference = min(_cpu_of_reference() for _ in range(5))

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run, thread = self._run, self._thread

        def measured(handle: asyncio.events.Handle) -> None:
            if threading.get_ident() != thread:
                run(handle)
                return
            began = time.thread_time()
            run(handle)
            self._longest = max(self._longest, time.thread_time() - began)

        monkeypatch.setattr(asyncio.events.Handle, "_run", measured)

    def take(self) -> float:
        longest, self._longest = self._longest, 0.0
        return round(longest / self._reference, 1)


def _cpu_of_reference() -> float:
    began = time.thread_time()
    sum(number * number for number in range(200_000))
    return time.thread_time() - began


class Visitor:
    """Sends prepared requests and waits by watching the events, without reading what is in them."""

    def __init__(self, client: Client, model: ScriptedModel) -> None:
        self.client, self.model = client, model

    async def chat(self, role: str = "actor") -> str:
        return str((await self.client.post("/context", {"agent_role": role})).json()["id"])

    async def turn(self, chat: str, path: str, body: bytes, *replies: Answer) -> None:
        self.model.replies[:] = [_at_once(reply) if isinstance(reply, str) else reply for reply in replies]
        async with self.client.stream(f"/context/{chat}/events") as stream:
            await stream.opened()
            sent = await self.client.post(
                f"/context/{chat}{path}", raw=body, headers={"content-type": "application/json"}
            )
            assert sent.status in (201, 202), sent.body[:300]
            seen = b""
            while not any(mark in seen for mark in RESTS):
                seen = seen[-100:] + await stream.chunk()


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopSlices]:
    """Without the garbage collector, whose pauses depend on everything that earlier tests left."""
    gc.collect()
    gc.disable()
    measured = LoopSlices()
    measured.install(monkeypatch)
    yield measured
    gc.enable()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
async def visitor(tmp_path: Path, folder: Path) -> AsyncIterator[Visitor]:
    put_fresh_database(tmp_path / "data")
    with serve_in_thread() as model:
        entry = ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",))
        settings = Settings(
            data_dir=tmp_path / "data", workspace=folder, token=TOKEN, model="scripted/scripted", providers=(entry,),
            probe_local_servers=False,
        )  # fmt: skip
        async with start_services(settings, token=TOKEN) as server:
            yield Visitor(Client(create_api(server.services), token=TOKEN), model)


def _plan(count: int, **first: object) -> dict[str, object]:
    steps = [
        {"step_number": at + 1, "id": f"s{at}", "action": f"do {at}", "tools_needed": ["create_file"], "paths": [f"f{at}.txt"],
         "dependencies": [f"s{at - 1}"] if at else []}
        for at in range(count)
    ]  # fmt: skip
    steps[0] |= first
    return {"goal": "g", "steps": steps}


def _at_once(text: str) -> Reply:
    return Reply(chunks=[text])


def _message(text: str) -> bytes:
    return json.dumps({"content": text}).encode()


def _write(*numbers: int) -> Sequence[Answer]:
    return [call("create_file", path=f"f{number}.txt", content="x") for number in numbers]


async def _run_plan(visitor: Visitor, count: int) -> None:
    """A person's plan: proposed, disclosed, approved, begun, and given up by the model."""
    chat = await visitor.chat("planner")
    body = json.dumps({"plan": _plan(count)}).encode()
    sent = await visitor.client.post(f"/context/{chat}/plans", raw=body, headers={"content-type": "application/json"})
    assert sent.status == 201, sent.body[:300]
    path = f"/plans/{sent.json()['message_id']}"
    assert (await visitor.client.get(f"/context/{chat}{path}/disclosure")).status == 200
    await visitor.turn(chat, f"{path}/approve", b"{}", *_write(0, 1), "Enough.", "Enough.")
    assert (await visitor.client.get(f"/context/{chat}/messages")).status == 200


async def test_nothing_of_hostile_size_holds_the_event_loop(slices: LoopSlices, visitor: Visitor, folder: Path) -> None:
    words = "".join(f"word{number} {{x}} " for number in range(25_000))
    lines = "".join(f"line {number}\n" for number in range(30_000))
    (folder / "long.txt").write_text(lines * 15)
    (folder / "braces.txt").write_text('"tool" ' + "{" * 900_000)
    (folder / "old.txt").write_text(lines)
    turns: dict[str, tuple[str, bytes, list[Answer]]] = {
        "plan in a reply": ("planner", _message("plan it"), [json.dumps(_plan(2_500))]),
        "cyclic plan": ("planner", _message("plan it"), [json.dumps(_plan(300, dependencies=["s299"])), "No.", "No."]),
        "braces at once": ("actor", _message("go on"), ['"tool" ' + "{" * 300_000, "Yes.", "Yes."]),
        "braces in pieces": ("actor", _message("go on"), [Reply(chunks=['"tool" ', *["{" * 9_000] * 30]), "Yes.", "Yes."]),
        "words": ("actor", _message("go on"), [words, "Yes."]),
        "a large new file": ("actor", _message("create big.txt"), [call("create_file", path="big.txt", content=lines)]),
        "a long file": ("actor", _message("read long.txt"), [call("read_file", path="long.txt"), "Read."]),
        "a file like calls": ("actor", _message("read it"), [call("read_file", path="braces.txt"), call("execute_command", command="ls f0.txt")]),
        "a rewritten file": (
            "actor", _message("rewrite old.txt"),
            [call("read_file", path="old.txt"), call("update_file", path="old.txt", content=lines.replace("line", "word"))],
        ),
        "a long message": ("actor", _message("x y\n" * 500_000), ["Yes."]),
    }  # fmt: skip
    await _run_plan(visitor, 3)  # what is loaded and built once is not measured
    slices.take()
    found = {}
    for name, (role, body, replies) in turns.items():
        chat = await visitor.chat(role)
        await visitor.turn(chat, "/messages", body, *replies)
        assert (await visitor.client.get(f"/context/{chat}/messages")).status == 200
        found[name] = slices.take()
    await _run_plan(visitor, 6_000)
    found["a plan of 6,000 steps"] = slices.take()
    assert {name: times for name, times in found.items() if times > TIMES} == {}, found


async def test_a_command_that_changes_thousands_of_files_never_holds_the_event_loop(
    slices: LoopSlices, folder: Path, tmp_path: Path
) -> None:
    """What it changed is listed, checked against the rules and summed up elsewhere."""
    (tmp_path / "outside").mkdir()
    bench = ToolWorkspace(folder, tmp_path / "outside")
    for number in range(4_000):
        (folder / f"{number}.py").touch()
    checked: list[int] = []

    async def check(changes: Sequence[PathIntent]) -> ChangesDecision:
        checked.append(len(changes))
        return ChangesDecision()

    await bench.call("execute_command", bench.tool_context(check_changes=check), command="echo 1 > first.py")
    slices.take()
    command = "for f in *.py; do echo new > $f; done"
    await bench.call("execute_command", bench.tool_context(check_changes=check), command=command)
    longest = slices.take()
    assert checked == [1, 4_001] and (folder / "3999.py").read_text() == "new\n"
    assert longest <= 0.6  # 0.1; it was 1.2 when the loop listed and summed up these 4,000


async def test_no_attachment_file_difference_template_or_export_of_hostile_size_holds_the_event_loop(
    slices: LoopSlices, visitor: Visitor, folder: Path, tmp_path: Path
) -> None:
    """What people attach, name, edit, compare and take with them."""
    lines = "".join(f"line {number} `{{x}}` <b> @f{number}\n" for number in range(5_000))
    (folder / "old.txt").write_text(lines * 5)
    templates = tmp_path / "data" / "templates"
    templates.mkdir(parents=True, exist_ok=True)
    for number in range(50):
        steps = "".join(f'[[steps]]\nid = "s{at}"\naction = "Do {at} {{{{word}}}}"\n' for at in range(400))
        (templates / f"t{number}.toml").write_text(f'description = "d"\n[[parameters]]\nname = "word"\n{steps}')
    attached = [{"name": f"{number}.md", "content": "`" * 999 + lines[:180_000]} for number in range(2)]
    client, found = visitor.client, {}
    chat = await visitor.chat()
    await visitor.turn(chat, "/messages", _message("hello"), "Yes.")
    for path in (f"/context/{chat}/export", "/job-templates", f"/context/{chat}/changes"):
        assert (await client.get(path)).status == 200
    slices.take()

    await visitor.turn(await visitor.chat(), "/messages", _message("@old.txt " + "@a/b.txt " * 50_000), "Yes.")
    found["mentions"] = slices.take()
    chat = await visitor.chat()
    body = json.dumps({"content": "look", "attachments": attached}).encode()
    await visitor.turn(chat, "/messages", body, "Yes.")
    found["attachments"] = slices.take()
    shown = (await client.get(f"/context/{chat}/file?path=old.txt")).json()
    found["a file in the pane"] = slices.take()
    saved = json.dumps(
        {"path": "old.txt", "text": (lines * 5).replace("line", "word"), "sha256": shown["sha256"]}
    ).encode()
    assert (await client.put(f"/context/{chat}/file", raw=saved, headers=JSON)).status == 200
    found["a saved file"] = slices.take()
    assert (await client.get(f"/context/{chat}/changes/file?path=old.txt")).status == 200
    found["a net difference"] = slices.take()
    assert (await client.get("/job-templates")).status == 200
    found["templates"] = slices.take()
    for form in ("json", "markdown", "html"):
        assert (await client.get(f"/context/{chat}/export?format={form}")).status == 200
        found[f"export as {form}"] = slices.take()
    assert (await client.get(f"/context/{chat}/messages")).status == 200
    found["messages"] = slices.take()
    assert {name: times for name, times in found.items() if times > TIMES} == {}, found


def test_what_a_hostile_request_names_is_found_within_a_slice() -> None:
    """For small models the request's words are searched too."""
    requests = {
        "one mention at the end": "x y\n" * 500_000 + "@a",
        "signs": "@" * 2_000_000,
        "open quotes": '@"' * 900_000,
        "one file again and again": "@a " * 600_000,
        "many files": " ".join(f"@a{number}" for number in range(250_000)),
        "resources": "@mcp:" * 400_000,
        "verbs": "make a.txt " * 180_000,
    }
    clause_kinds("Read a.txt.")  # the weights are read once in a process
    reference = min(_cpu_of_reference() for _ in range(5))
    slow = {}
    for name, text in requests.items():
        for look in (mentions_in, paths_in, clause_kinds, lambda request: of_request(request, lambda _: True)):
            began = time.thread_time()
            look(text)
            if (times := (time.thread_time() - began) / reference) > TIMES:
                slow[name, look.__name__] = round(times, 1)
    assert slow == {}
    assert mentions_in(requests["one mention at the end"]) == [Mention(MentionKind.FILE, "a")]


def test_dense_messages_of_mcp_servers_are_told_apart_within_a_slice() -> None:
    table = "a,[b],{c}," * 300_000
    lines = {
        "a table as text": (json.dumps({"result": {"text": table}}), False),
        "quotes as text": (json.dumps({"result": {"text": '"\\",' * 400_000}}), False),
        "lists": (json.dumps({"result": [[]] * 1_000_000}), True),
        "strings": (json.dumps({"result": ["x"] * 700_000}), True),
        "fields": (json.dumps({"result": {f"p{number}": "x" for number in range(200_000)}}), True),
    }
    reference = min(_cpu_of_reference() for _ in range(5))
    for name, (line, dense) in lines.items():
        encoded = line.encode()
        began = time.thread_time()
        assert has_too_many_values(encoded) is dense, name
        assert (time.thread_time() - began) / reference <= TIMES, name
