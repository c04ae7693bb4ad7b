"""One function says who is told a content. A planted value in a path that may not be read is in no answer to anyone who may not."""

import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any  # a test's own words

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.people import AccessLevel
from anycowork.domain.ports import ContentReader, Telling
from anycowork.domain.principals import EDITOR_HEADER, MCP_HOST_HEADER
from anycowork.domain.roles import Role
from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.domain.tools import ToolSpec
from anycowork.permissions.rules import RuleIndex
from support.distributions import install
from support.live_server import Caller, Json, LiveChat, LiveServer, live_server
from support.people import PersonClient, person
from support.person_commands import run
from support.raw_mcp_server import CODE, offered, raw_server, read_all
from support.scripted_model import call
from support.spec import proves

SOURCE = Path(__file__).parents[2] / "src/anycowork"
PLANTED = "planted-3c90aa"
CONTENT = f"FIRST=1\ndef secret_of():\n  return '{PLANTED}'\nLAST=3 {PLANTED}\n"
PATHS = [(".env", None), ("private/notes.py", "ask"), ("private/notes.py", "deny")]
PLUGIN = """
    from pathlib import Path
    import os

    @tool(path="path")
    def quote(path: str) -> str:
        "Quote a file."
        return Path(path).read_text()

    @tool()
    def quote_all() -> str:
        "Quote every file."
        texts = []
        for folder, _, names in os.walk("."):
            for name in names:
                try:
                    texts.append(Path(folder, name).read_text())
                except OSError as error:
                    texts.append(str(error))
        return " ".join(texts)

    tools = [quote, quote_all]
"""


def arguments(spec: ToolSpec, path: str, root: Path) -> list[dict[str, Any]]:
    """The tool's parameters, once with the path, and once with the folder above it, wherever a text belongs."""
    if spec.name == "raw__attempt":
        return [{"code": read_all(root)}, {"code": f"tell(Path({str(root / path)!r}).read_text())"}]
    if spec.name == "execute_command":
        return [{"command": f"cat {path}; cat */* .e*; git log -p; cp {path} x; cat x"}]
    fields: dict[str, Any] = spec.schema.get("properties", {})  # type: ignore[assignment]  # a schema
    filled = []
    for target in (path, str(Path(path).parent)):
        texts = {
            name: target if re.search("path|file|resource|uri", name) else "copied.txt" if name == "to" else "secret_of"
            for name, field in fields.items()
            if field.get("type") == "string"
        }
        edits = {"edits": [{"find": "FIRST=2", "replace": "x"}]} if "edits" in fields else {}
        filled.append({**{name: text for name, text in texts.items() if not (edits and name == "content")}, **edits})
    return filled


@proves("PER-4", "APR-3", "SEC-4")
@pytest.mark.parametrize(("path", "effect"), PATHS)
async def test_no_tool_tells_a_content_that_nobody_allowed_to_read(
    tmp_path: Path, path: str, effect: str | None
) -> None:
    """Every tool there is, those of a plugin and of an MCP server among them. Everything but reading the path is allowed."""
    install(tmp_path / "data/plugins", "quotes", PLUGIN)
    files = {path: CONTENT, "sub/other.txt": "plain\n"}
    async with live_server(tmp_path, files=files, plugins=("quotes",)) as client:
        await client.ask(
            "POST",
            "/mcp/servers",
            raw_server(tmp_path / "far", [offered("attempt", CODE)], workspace_access="read"),
            expect=201,
        )
        await client.ask("POST", "/mcp/servers/raw/connect", {})
        specs = [spec for spec in client.server.services.toolbox.specs() if not spec.asks_agents]
        assert {"read_file", "quote", "quote_all", "raw__attempt", "execute_command"} <= {spec.name for spec in specs}
        for spec in specs:
            await allow(client, spec.name, "allow")
        if effect is not None:
            await allow(client, "read_file", effect, "/private/**")
        async with people(client) as (readers, _):
            in_turn = itertools.cycle(readers.values())
            for role in list(Role) if effect is None else [Role.ACTOR]:
                for spec in specs:
                    for parameters in arguments(spec, path, client.workspace)[: None if role is Role.ACTOR else 1]:
                        text = call(spec.name, **parameters)
                        assert PLANTED not in await told_by(client, next(in_turn), role, text), (role, text)
            told = await told_by(client, readers["viewer"], Role.ACTOR, call("quote_all"))
        assert "plain" in told, "a program of the agent reads what it may"


@asynccontextmanager
async def people(client: LiveServer) -> AsyncIterator[tuple[dict[str, Caller], dict[str, Caller]]]:
    """Readers who decide nothing, and those who decide, each also with a program that reads with their token."""
    async with (
        person(client, "Vera", AccessLevel.VIEWER) as viewer,
        person(client, "Max", AccessLevel.MEMBER) as member,
        AsyncExitStack() as stack,
    ):

        async def program(of: PersonClient, header: str) -> Caller:
            headers = {"Authorization": f"Bearer {of.token}", header: "program"}
            return Caller(client.url, await stack.enter_async_context(aiohttp.ClientSession(headers=headers)))

        readers = {
            "viewer": viewer,
            "a viewer's editor": await program(viewer, EDITOR_HEADER),
            "a viewer's MCP host": await program(viewer, MCP_HOST_HEADER),
            "a member's MCP host": await program(member, MCP_HOST_HEADER),
        }
        yield readers, {"member": member, "a member's editor": await program(member, EDITOR_HEADER), "owner": client}


async def allow(client: LiveServer, tool: str, effect: str, resource: str = "") -> None:
    for pattern in [resource] if resource else ["*", "**"]:
        body = {"tool": tool, "resource": pattern, "effect": effect, "scope": "global"}
        async with client.session.post(client.url + "/rules", json=body) as response:
            assert response.status in (201, 422), await response.text()


async def told_by(client: LiveServer, reader: Caller, role: Role, text: str) -> str:
    """What the model is told of this call, and who reads the chat. The file is there again afterwards."""
    files = {path: path.read_bytes() for path in client.workspace.rglob("*") if path.is_file()}
    chat = await client.chat(role=role)
    client.model.replies[:] = [text, "Done.", "Done.", "Done."]
    if (await chat.send("Go."))["state"] == "awaiting_approval":
        await chat.decide("deny")
    told = json.dumps([await LiveChat(reader, {"id": chat.id}).messages(), client.model.requests])
    client.model.requests.clear()
    for path, content in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return told


def repeating(event: str, fields: str) -> Json:
    """A hook that repeats what it is told of a call."""
    command = f'printf \'{{"hookSpecificOutput":{{{fields}"%s"}}}}\' "$(tr -d \'"\\\\\' | grep -o \'LAST.*\')"'
    return {event: [{"hooks": [{"type": "command", "command": command}]}]}


REPEATS = repeating("PostToolUse", '"additionalContext":')
ASKS = repeating("PreToolUse", '"permissionDecision":"ask","permissionDecisionReason":')
DENIES = {"PreToolUse": [{"hooks": [{"type": "command", "command": "grep -o 'LAST.*' >&2; exit 2"}]}]}


@proves("PER-4", "SEC-4")
@pytest.mark.parametrize(("path", "effect"), PATHS[:2])
async def test_who_decides_nothing_is_told_nothing_of_what_the_agent_was_allowed_to_read(
    tmp_path: Path, path: str, effect: str | None
) -> None:
    calls = [
        call("read_file", path=path),
        call("update_file", path=path, edits=[{"find": "FIRST=1", "replace": "FIRST=2"}]),
        call("grep", pattern="secret", path=path, context=5),
        call("update_file", path=path, edits=[{"find": "LAST=4 planted", "replace": "x"}]),
        call("execute_command", command=f"cat {path}", key_files=[path]),
    ]
    write = call("update_file", path=path, edits=[{"find": "LAST=3", "replace": PLANTED}])
    async with live_server(tmp_path, files={path: CONTENT}) as client:
        if effect is not None:
            await allow(client, "read_file", effect, "/private/**")
        chat = await client.chat()
        for text, hooks in [*((text, {}) for text in calls), (calls[0], REPEATS), (write, ASKS), (write, DENIES)]:
            (tmp_path / "data/hooks.json").write_text(json.dumps({"hooks": hooks}))
            client.model.replies[:] = [text, "Done."]
            state = await chat.send("Go.")
            while state["state"] == "awaiting_approval":
                state = await chat.decide()
        async with people(client) as (readers, deciders):
            for name, decider in deciders.items():
                assert PLANTED in str(await LiveChat(decider, {"id": chat.id}).messages()), f"{name} is shown it"
            for name, reader in readers.items():
                for address, answer in await answers(reader, chat.path):
                    told = [answer[max(0, at.start() - 300) : at.end() + 100] for at in re.finditer(PLANTED, answer)]
                    assert not told, (name, address, told)
                assert PLANTED not in str(await LiveChat(reader, {"id": chat.id}).events()), name


@proves("PER-4", "SEC-4")
@pytest.mark.parametrize("effect", ["ask", "deny"])
async def test_what_a_workspace_supplies_tells_a_viewer_nothing_of_a_file_that_a_rule_keeps_back(
    tmp_path: Path, effect: str
) -> None:
    hook = [{"hooks": [{"type": "command", "command": f"echo {PLANTED}"}]}]
    files = {
        "AGENTS.md": PLANTED,
        ".anycowork/hooks.json": json.dumps({"hooks": {"Stop": hook}}),
        ".anycowork/workflows/w.md": f'+++\ndescription = "{PLANTED}"\n+++\n{PLANTED}\n\n## Look\n{PLANTED}\n',
        ".agents/skills/s/SKILL.md": f"---\nname: s\ndescription: {PLANTED}\n---\n{PLANTED}\n",
    }
    async with live_server(tmp_path, files=files) as client, people(client) as (readers, deciders):
        for place in ("/AGENTS.md", "/.anycowork/**", "/.agents/**"):
            await allow(client, "read_file", effect, place)
        for name, caller in {**readers, **deciders}.items():
            for address in ("instructions", "hooks", "workflows", "workflows/w", "skills", "skills/s"):
                async with caller.session.get(f"{client.url}/{address}") as response:
                    text = await response.text()
                assert response.status == 200, text
                assert (PLANTED in text) is (name in deciders), (name, address, text)


async def answers(caller: Caller, chat: str) -> list[tuple[str, str]]:
    snapshots = (await caller.ask("GET", f"{chat}/snapshots"))["snapshots"]
    addresses = [
        chat,
        *(f"{chat}/{end}" for end in ("messages?limit=500", "approvals", "changes", "git", "files", "usage")),
    ]
    addresses += [f"{chat}/export?format={form}" for form in ("json", "markdown", "html")]
    addresses += [f"{chat}/snapshots/{snapshot['id']}/diff" for snapshot in snapshots]
    addresses += ["/context", "/hooks", f"/search?q={PLANTED}", "/search?q=secret_of"]
    told = []
    for address in addresses:
        async with caller.session.get(caller.url + address) as response:
            told.append((address, await response.text()))
    return told


@proves("PER-4", "SEC-4")
async def test_workflow_does_not_put_the_difference_of_a_key_file_into_a_prompt(tmp_path: Path) -> None:
    """A person writes a key with a command of their own; the chat records the change."""
    async with live_server(tmp_path, files={"+first.txt": "a\n", "a.txt": "a\n"}) as client:
        chat = await client.chat()
        (tmp_path / "key").write_text(f"KEY={PLANTED}\n")
        ended = await run(chat, f"cp {tmp_path}/key .env; echo b > a.txt; echo b > +first.txt")
        assert ended["files"] == 3, "others come before and after it"
        await chat.switch("reviewer")
        client.model.replies[:] = ["Nothing to say."] * 3
        await client.ask("POST", f"{chat.path}/messages", {"content": "/review_changes"}, expect=202)
        await chat.rest()
        assert client.model.requests and f"KEY={PLANTED}" not in str(client.model.requests)


PATTERNS = st.sampled_from(["/.env", "/private/**", "**", "**/*.pem", "/private/notes.py", "/src/**", "*"])
RULES = st.lists(
    st.builds(
        Rule,
        id=st.just("r"),
        tool=st.sampled_from(["read_file", "*", "grep"]),
        resource=PATTERNS,
        effect=st.sampled_from(Effect),
        scope=st.just(RuleScope.GLOBAL),
    ),
    max_size=4,
)


@given(
    RULES,
    st.sampled_from([".env", "private/notes.py", "src/a.py", "deploy/key.pem", "private/.env", "home/.ssh/config"]),
)
def test_nobody_who_decides_nothing_is_told_more_than_the_agent(rules: list[Rule], path: str) -> None:
    hidden = RuleIndex(rules).hidden_from()
    agent, viewer = (hidden.may_be_told(path, reader) for reader in (ContentReader.AGENT, ContentReader.VIEWER))
    assert viewer is Telling.NEVER or agent is Telling.TOLD
    if agent is Telling.NEVER:
        assert hidden.may_be_told(path, ContentReader.DECIDER) is Telling.AFTER_DECISION


# Who asks `is_key_file` or what rules withhold, and tells no content by the answer.
ELSEWHERE = {
    "domain/ports.py": "it is the function",
    "domain/path_class.py": "the names",
    "permissions": "whether a call needs a decision",
    "sandbox/secrets": "what programs in the sandbox do not see",
    "sandbox/remote": "what does not travel to a joined worker",
    "sandbox/commit": "which changes of a program are refused",
    "mcp/server_launcher.py": "what programs in the sandbox do not see",
    "mcp/program.py": "which files of the machine are bound",
    "acp/editor_files.py": "which files of an editor are taken",
    "tools/execute_command.py": "which words of a command name one",
    "tools/move_and_delete.py": "a content that is left out of an approval",
    "workspace/hard_links.py": "which names a file has",
    "workspace/skill_files.py": "whose text nobody is shown",
    "workspace/plugin_files.py": "which files of a plugin are refused",
}


def test_no_other_place_decides_who_is_told_a_content() -> None:
    deciding = re.compile(r"\bis_key_file\(|\.withholds\(|\.covers\((?:file|path|image)\.")
    places = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if deciding.search(path.read_text())}
    assert not [place for place in sorted(places) if not place.startswith(tuple(ELSEWHERE))]
