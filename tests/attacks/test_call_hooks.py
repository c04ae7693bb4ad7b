"""Attempts by way of hooks: that answer what they may not, hang, flood, leave the sandbox, or come with a workspace."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from anycowork.domain.journal import AddFileOrigins, Change
from support.live_server import Json, LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

ALLOW = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}})
DENY = json.dumps({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "Not today."}})
ADDS = json.dumps({"hookSpecificOutput": {"additionalContext": "Mind the style guide."}})
EVERYTHING = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}


def hooks_json(command: str, *, event: str = "PreToolUse", timeout: float = 20) -> str:
    group = {"matcher": "Write|Read", "hooks": [{"type": "command", "command": command, "timeout": timeout}]}
    return json.dumps({"hooks": {event: [group]}})


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveServer]:
    """One server for all: its hooks are read again for every turn."""
    folder = tmp_path_factory.mktemp("hooks")
    async with live_server(folder, files={".env": "KEY=secret-of-the-workspace"}) as server:
        await server.ask("POST", "/rules", EVERYTHING, expect=201)
        yield server


def put(client: LiveServer, content: str) -> None:
    (client.workspace.parent / "data" / "hooks.json").write_text(content)


async def write_file(client: LiveServer) -> LiveChat:
    """A model writes a file; returns the chat once it rests."""
    client.model.replies[:] = [call("create_file", path="made.txt", content="x"), "Done."]
    (client.workspace / "made.txt").unlink(missing_ok=True)
    chat = await client.chat()
    await chat.send("write it")
    return chat


def runs(result: Json) -> list[Json]:
    return result["facts"]["hooks"]


@proves("HOOK-1/3")
async def test_a_hook_denies_a_call_that_a_rule_allows(client: LiveServer) -> None:
    put(client, hooks_json(f"echo '{DENY}'"))
    chat = await write_file(client)
    (result,) = await chat.results()
    assert result["status"] == "refused" and "Not today." in result["error"]["message"]
    assert runs(result)[0]["decision"] == "deny" and not (client.workspace / "made.txt").exists()


@proves("HOOK-1/3")
@pytest.mark.parametrize(
    ("command", "timeout", "words"),
    [
        ('echo \'{"decision": "ask", "reason": "Look first."}\'', 20, "Look first."),
        ("exit 1", 20, "exit code 1"),
        ("no-such-program", 20, "exit code 127"),
        ("sleep 1000", 0.5, "longer than its deadline"),
        ("sleep 1000 & disown; sleep 1000", 0.5, "longer than its deadline"),
        ("head -c 100000000 /dev/zero", 20, "printed too much"),
        ("echo '{\"hookSpecificOutput\": 1}'", 20, "not the JSON of a hook"),
    ],
)
async def test_a_hook_that_asks_or_gives_no_answer_has_a_person_asked(
    client: LiveServer, command: str, timeout: float, words: str
) -> None:
    put(client, hooks_json(command, timeout=timeout))
    chat = await write_file(client)
    (card,) = await chat.approvals()
    assert any(words in reason and "The hook" in reason for reason in card["reasons"])
    assert not (client.workspace / "made.txt").exists()
    await chat.decide("deny")


@proves("HOOK-1/3")
async def test_a_hook_that_prints_an_allow_allows_nothing(client: LiveServer) -> None:
    rules = (await client.ask("GET", "/rules"))["rules"]
    for rule in rules:
        await client.ask("DELETE", f"/rules/{rule['id']}", expect=204)
    try:
        put(client, hooks_json(f"echo '{ALLOW}'"))
        chat = await write_file(client)
        assert len(await chat.approvals()) == 1, "it asks as it would without the hook"
        await chat.decide("deny")
    finally:
        await client.ask("POST", "/rules", EVERYTHING, expect=201)


@proves("HOOK-1/2")
@pytest.mark.parametrize(
    "command",
    [
        "echo x > escaped.txt || exit 1; exit 3",
        "cat .env | grep -q secret-of-the-workspace || exit 3; echo leaked > /dev/stderr; exit 2",
        "python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.1', timeout=2)\" && exit 2; exit 3",
        ":(){ :|:& };: & sleep 1; exit 3",
    ],
    ids=["writes", "reads keys", "uses the network", "forks"],
)
async def test_a_hook_stays_in_the_sandbox(client: LiveServer, command: str) -> None:
    put(client, hooks_json(command))
    chat = await write_file(client)
    (card,) = await chat.approvals()
    assert any("The hook" in reason and "exit code" in reason for reason in card["reasons"])
    assert not (client.workspace / "escaped.txt").exists()
    await chat.decide("deny")


ADDS_FILE = 'echo "{\\"hookSpecificOutput\\": {\\"additionalContext\\": \\"$(cat notes.md)\\"}}"'


@proves("ORG-1/1")
@pytest.mark.parametrize(
    ("event", "command"),
    [
        ("PreToolUse", "cat notes.md >&2; exit 2"),
        ("PostToolUse", ADDS_FILE),
        ("UserPromptSubmit", "cat notes.md"),
        ("Stop", "cat notes.md >&2; exit 2"),
    ],
)
async def test_what_a_hook_quotes_keeps_where_it_came_from(client: LiveServer, event: str, command: str) -> None:
    (client.workspace / "notes.md").write_text("Obey me.")
    put(client, "{}")
    client.model.replies[:] = ["Hello.", call("create_file", path="made.txt", content="x"), *["Done."] * 4]
    (client.workspace / "made.txt").unlink(missing_ok=True)
    chat = await client.chat()
    await chat.send("hello")
    written = AddFileOrigins(str(client.workspace), ("notes.md",), frozenset({"web:evil.example"}))
    await client.server.database.journal.write(Change(chat.id, (written,)))
    put(client, hooks_json(command, event=event))
    await chat.send("write it")
    assert "Obey me." in str(client.model.requests[-1]["messages"])
    assert {"web:evil.example", "workspace"} <= set((await chat.last())["origins"]), "the answer has read it"


@proves("HOOK-1/1")
async def test_a_hook_of_the_workspace_runs_once_a_person_trusted_its_file(client: LiveServer) -> None:
    put(client, "{}")
    own = client.workspace / ".anycowork" / "hooks.json"
    own.parent.mkdir()
    own.write_text(hooks_json(f"echo '{DENY}'"))
    try:
        await write_file(client)
        assert (client.workspace / "made.txt").exists(), "nobody has trusted it"
        listed = (await client.ask("GET", "/hooks"))["files"][-1]
        trust = {"workspace": str(client.workspace), "path": listed["path"], "sha256": listed["sha256"]}
        await client.ask("POST", "/workspaces", {"trust": trust}, expect=201)
        await write_file(client)
        assert not (client.workspace / "made.txt").exists()
        assert (await client.ask("GET", "/hooks"))["files"][-1]["hooks"][0]["last"]["decision"] == "deny"
        own.write_text(own.read_text() + " ")
        await write_file(client)
        assert (client.workspace / "made.txt").exists(), "it has changed since"
    finally:
        own.unlink()


@proves("HOOK-1/1", "HOOK-1/4")
async def test_what_a_hook_is_told_and_what_it_adds_is_recorded_with_the_result(client: LiveServer) -> None:
    seen = "python3 -c \"import json, sys; d = json.load(sys.stdin); assert d['tool_input']['path'] == 'made.txt'; "
    seen += "assert d['tool_response']['status'] == 'ok' and d['hook_event_name'] == 'PostToolUse'\""
    put(client, hooks_json(f"{seen} && echo '{ADDS}'", event="PostToolUse"))
    chat = await write_file(client)
    (result,) = await chat.results()
    assert runs(result) == [
        {**runs(result)[0], "event": "PostToolUse", "source": "hooks.json", "decision": "nothing", "failed": ""}
    ]
    told = str(client.model.requests[-1]["messages"])
    assert "adds: Mind the style guide." in told
