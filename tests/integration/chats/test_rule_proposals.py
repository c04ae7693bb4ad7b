"""Rules that are proposed from what people decided: the smallest, and never one that allows what was denied or a known attack."""

from pathlib import Path

from support.live_server import Json, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

FILES = {"src/a.py": "a\n", "src/b.py": "b\n"}


def create(path: str) -> str:
    return call("create_file", path=path, content="x\n")


def run(command: str) -> str:
    return call("execute_command", command=command)


async def decided(client: LiveServer, *decisions: tuple[str, str]) -> list[Json]:
    """Lets the agent make these calls, each decided so; the proposals after them."""
    for made_call, decision in decisions:
        client.model.replies += [made_call, "Done."]
        chat = await client.chat()
        assert (await chat.send("Go on."))["state"] == "awaiting_approval"
        await chat.decide(decision)
    return (await client.ask("GET", "/rules/proposals"))["proposals"]


@proves("ORG-3/2")
async def test_what_was_allowed_twice_is_proposed_with_its_calls_and_answers_them(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        once = await decided(client, (run("echo one"), "allow_once"))
        assert once == []
        [proposal] = await decided(client, (run("echo one"), "allow_once"), (run("echo two"), "allow_once"))
        workspace = str(client.workspace)
        rule = {"tool": "execute_command", "resource": "echo one", "effect": "allow", "scope": "workspace"}
        assert proposal["rule"] == {**rule, "workspace": workspace} and proposal["decided"] == 2
        assert [item["resource"] for item in proposal["calls"]] == ["command:echo one"] * 2
        await client.ask("POST", "/rules", proposal["rule"], expect=201)
        client.model.replies += [run("echo one"), "Done."]
        assert (await (await client.chat()).send("Again."))["state"] == "idle"
        assert (await client.ask("GET", "/rules/proposals"))["proposals"] == [], "a rule answers it already"


@proves("ORG-3/2")
async def test_one_file_is_proposed_alone_and_several_as_their_folder(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        [folder] = await decided(client, (create("src/c.py"), "allow_once"), (create("src/d.py"), "allow_once"))
        assert (folder["rule"]["resource"], folder["decided"]) == ("/src/*", 2)
        (client.workspace / "src/c.py").unlink()
        [exact] = await decided(client, (create("src/c.py"), "allow_once"))
        assert (exact["rule"]["resource"], exact["decided"]) == ("/src/c.py", 2), "the smallest that answers two"


@proves("ORG-3/2")
async def test_a_rule_that_would_have_allowed_a_denied_call_is_not_proposed(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        two = [(create("src/c.py"), "allow_once"), (create("src/d.py"), "allow_once")]
        assert await decided(client, *two, (create("src/e.py"), "deny")) == []


@proves("ORG-3/2")
async def test_a_rule_that_lets_a_known_attack_pass_is_not_proposed(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        attack = run("chmod -R 777 .")
        assert await decided(client, (attack, "allow_once"), (attack, "allow_once")) == []
