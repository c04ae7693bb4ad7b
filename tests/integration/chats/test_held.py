"""Changes that wait for a person's word: shown as they are, made when allowed, dropped when not, and still there after a restart."""

from pathlib import Path

import pytest

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

STEER = call("execute_command", command="echo obey > AGENTS.md; echo new > plain.txt; echo said")
PLAIN = call("execute_command", command="echo new > plain.txt; echo said")
LATER = {"ask": "at_commit"}


def held_in(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "data/staging/held").glob("*"))


def files(client: LiveServer) -> list[str]:
    return sorted(path.name for path in client.workspace.iterdir())


async def rule(client: LiveServer, tool: str, resource: str, effect: str = "allow") -> None:
    body = {"tool": tool, "resource": resource, "effect": effect, "scope": "global"}
    await client.ask("POST", "/rules", body, expect=201)


async def waiting(client: LiveServer) -> LiveChat:
    """A chat whose command has run, with a person's leave, and whose changes wait."""
    chat = await client.chat()
    await chat.send("do it")
    assert [item["held"] for item in await chat.approvals()] == [False]
    assert (await chat.decide())["state"] == "awaiting_approval"
    return chat


@proves("SNAP-4", "APR-8")
async def test_what_steers_agents_is_shown_as_a_diff_and_made_when_allowed(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[STEER, "Done."], files={"plain.txt": "old\n"}) as client:
        chat = await waiting(client)
        (approval,) = await chat.approvals()
        assert approval["held"] and approval["resource"].startswith("command:") and approval["proposed_rule"] is None
        assert "+obey" in approval["diff"] and "-old" in approval["diff"] and "+new" in approval["diff"]
        assert approval["reasons"][0] == "It has run, and its changes are waiting for your approval."
        assert sum("controls tools" in reason for reason in approval["reasons"]) == 1, "each thing is said once"
        assert files(client) == ["plain.txt"] and (client.workspace / "plain.txt").read_text() == "old\n"
        assert (await chat.decide())["state"] == "idle"
        assert (client.workspace / "AGENTS.md").read_text() == "obey\n"
        assert (client.workspace / "plain.txt").read_text() == "new\n"
        (result,) = await chat.results()
        assert result["status"] == "ok" and "+obey" in result["diff"] and result["facts"]["changed"] == 2
        said = (await chat.of_type("tool_result"))[0]["content"]
        assert said.startswith("said\n") and "A AGENTS.md" in said
        assert held_in(tmp_path) == []
        moments = [item["moment"] for item in (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]]
        assert moments == ["before", "after"], "it can be undone like any other change"


@proves("SNAP-4", "APR-1")
async def test_denied_changes_are_dropped_and_the_model_reads_why(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[STEER, "Done."]) as client:
        chat = await waiting(client)
        await chat.decide("deny", note="not that file")
        (message,) = await chat.of_type("tool_result")
        assert message["payload"]["status"] == "denied" and message["content"].startswith("said\n")
        assert "not that file" in message["content"] and "Its changes were dropped." in message["content"]
        assert files(client) == [] and held_in(tmp_path) == []


@proves("SNAP-4")
async def test_stopping_withdraws_the_question_and_drops_the_changes(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[STEER, "Done."]) as client:
        chat = await waiting(client)
        await client.ask("POST", f"{chat.path}/stop")
        assert await chat.approvals() == [] and files(client) == [] and held_in(tmp_path) == []
        (message,) = await chat.of_type("tool_result")
        assert message["payload"]["status"] == "cancelled" and "had run" in message["content"]


@proves("SNAP-4", "APR-4/2")
@pytest.mark.parametrize("decision", ["allow_once", "deny"])
async def test_what_waits_is_still_there_after_a_restart(tmp_path: Path, decision: str) -> None:
    async with live_server(tmp_path, replies=[STEER, "Done."]) as client:
        chat = await waiting(client)
        shown = (await chat.approvals())[0]
    async with live_server(tmp_path, replies=["Done."]) as client:
        again = LiveChat(client, await client.ask("GET", chat.path))
        assert again.opened["state"] == "awaiting_approval" and await again.approvals() == [shown]
        assert len(held_in(tmp_path)) == 1
        await again.decide(decision)
        assert files(client) == (["AGENTS.md", "plain.txt"] if decision == "allow_once" else [])
        assert held_in(tmp_path) == []


async def test_a_stage_that_nobody_waits_for_is_swept_at_the_start(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[STEER, "Done."]) as client:
        await waiting(client)
        (kept,) = held_in(tmp_path)
        (kept.parent / "0123456789abcdef").mkdir()
    async with live_server(tmp_path):
        assert held_in(tmp_path) == [kept]


@proves("SNAP-4")
async def test_another_chat_may_write_while_changes_wait(tmp_path: Path) -> None:
    create = call("create_file", path="other.txt", content="x")
    async with live_server(tmp_path, replies=[STEER, create, "Done.", "Done."]) as client:
        await rule(client, "create_file", "*")
        chat = await waiting(client)
        assert (await (await client.chat()).send("create"))["state"] == "idle", (
            "nothing is mounted, so nobody is in the way"
        )
        await chat.decide()
        assert files(client) == ["AGENTS.md", "other.txt", "plain.txt"]


# --- rules about what was written


@proves("APR-2", "SNAP-4")
async def test_a_rule_that_asks_for_a_path_holds_a_command_that_changed_it(tmp_path: Path) -> None:
    write = call("execute_command", command="echo new > docs/a.md")
    async with live_server(tmp_path, replies=[write, "Done."], files={"docs/a.md": "old\n"}) as client:
        await rule(client, "execute_command", "*")
        await rule(client, "update_file", "/docs/**", "ask")
        chat = await client.chat()
        # The redirection is seen before it runs; what a program writes is only seen afterwards.
        assert (await chat.send("write"))["state"] == "awaiting_approval"
        assert (await chat.approvals())[0]["held"] is False
        await chat.decide()
        (approval,) = await chat.approvals()
        assert approval["held"] and "'ask before the agent may change /docs/**'" in " ".join(approval["reasons"])
        await chat.decide()
        assert (client.workspace / "docs/a.md").read_text() == "new\n"


@proves("APR-2", "SNAP-4")
async def test_a_rule_that_denies_a_path_drops_what_a_command_changed(tmp_path: Path) -> None:
    write = call("execute_command", command="touch docs/b.md other.txt; rm docs/a.md")
    async with live_server(tmp_path, replies=[write, "I may not."], files={"docs/a.md": "old\n"}) as client:
        await rule(client, "execute_command", "*")
        await rule(client, "delete_file", "/docs/**", "deny")
        chat = await client.chat()
        assert (await chat.send("write"))["state"] == "idle"
        (result,) = await chat.results()
        assert result["error"]["code"] == "denied_by_rule" and "/docs/a.md" in result["error"]["message"]
        assert files(client) == ["docs"] and (client.workspace / "docs/a.md").exists()


@proves("SNAP-4")
async def test_a_rule_that_names_the_very_file_spares_the_question(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[STEER, "Done."]) as client:
        await rule(client, "execute_command", "*")
        await rule(client, "create_file", "/AGENTS.md")
        chat = await client.chat()
        assert (await chat.send("do it"))["state"] == "idle"
        assert files(client) == ["AGENTS.md", "plain.txt"]


async def test_a_rule_with_a_pattern_does_not(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[STEER, "Done."]) as client:
        await rule(client, "*", "*")
        await rule(client, "create_file", "/*")
        chat = await client.chat()
        assert (await chat.send("do it"))["state"] == "awaiting_approval" and files(client) == []


# --- run first, ask with the diff in hand


@proves("SNAP-4", "APR-1")
async def test_with_ask_at_commit_a_command_runs_first_and_asks_once(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[PLAIN, "Done.", PLAIN, "Done."], **LATER) as client:
        chat = await client.chat()
        assert (await chat.send("do it"))["state"] == "awaiting_approval"
        (approval,) = await chat.approvals()
        assert approval["held"] and "+new" in approval["diff"] and files(client) == []
        assert approval["proposed_rule"]["resource"] == "echo new > plain.txt; echo said"
        assert (await chat.decide("allow_always"))["state"] == "idle"
        assert files(client) == ["plain.txt"]
        (client.workspace / "plain.txt").unlink()
        assert (await chat.send("again"))["state"] == "idle", "the rule covers it now"
        assert files(client) == ["plain.txt"]


async def test_with_ask_at_commit_a_command_that_changes_nothing_is_not_asked_for(tmp_path: Path) -> None:
    replies = [call("execute_command", command="echo hello; touch /tmp/x"), "Done."]
    async with live_server(tmp_path, replies=replies, **LATER) as client:
        chat = await client.chat()
        assert (await chat.send("look"))["state"] == "idle"
        assert (await chat.results())[0]["status"] == "ok"


@proves("APR-1", "APR-3")
@pytest.mark.parametrize(
    "requested",
    [
        call("execute_command", command="curl x", network=["example.org"]),
        call("execute_command", command="cat .env"),
        call("execute_command", command="make deploy"),
        "Look: " + PLAIN,
        call("create_file", path="a", content="a"),
    ],
    ids=["network", "a secret", "a rule that asks", "quoted", "not a command"],
)
async def test_what_the_sandbox_alone_does_not_hold_asks_before_all_the_same(tmp_path: Path, requested: str) -> None:
    async with live_server(tmp_path, replies=[requested, "Done."], **LATER) as client:
        await rule(client, "execute_command", "make *", "ask")
        chat = await client.chat()
        assert (await chat.send("do it"))["state"] == "awaiting_approval"
        assert [item["held"] for item in await chat.approvals()] == [False]


async def test_a_call_that_was_denied_is_not_run_first_after_the_setting_changed(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[PLAIN, "Done."]) as client:
        chat = await client.chat()
        await chat.send("do it")
        await client.ask("PUT", "/settings", LATER)
        await chat.decide("deny")
        assert (await chat.results())[0]["status"] == "denied" and files(client) == []


@proves("APR-7")
async def test_explain_says_that_it_runs_first(tmp_path: Path) -> None:
    async with live_server(tmp_path, **LATER) as client:
        chat = await client.chat()
        requested = {"tool": "execute_command", "parameters": {"command": "make"}, "context_id": chat.id}
        explained = await client.ask("POST", "/rules/explain", {"call": requested})
        assert explained["effect"] == "ask" and "runs first" in explained["why"]


@proves("APR-4")
async def test_of_two_commands_each_waits_by_itself(tmp_path: Path) -> None:
    one, two = call("execute_command", command="touch a"), call("execute_command", command="touch b")
    async with live_server(tmp_path, replies=[f"[{one}, {two}]", "Done."], **LATER) as client:
        chat = await client.chat()
        await chat.send("do both")
        assert [item["held"] for item in await chat.approvals()] == [True]
        await chat.decide()
        assert files(client) == ["a"] and [item["held"] for item in await chat.approvals()] == [True]
        await chat.decide("deny")
        assert files(client) == ["a"]
        assert [result["status"] for result in await chat.results()] == ["ok", "denied"]


@proves("APR-3/10")
async def test_role_whose_output_is_a_review_asks_before_a_command_runs(tmp_path: Path) -> None:
    """With `ask = "at_commit"` an actor's command runs first; a team's own role that only advises asks before."""
    roles = tmp_path / "data/roles"
    roles.mkdir(parents=True)
    (roles / "auditor.toml").write_text(
        'name = "auditor"\npermissions = ["read_files", "execute_commands"]\nprompt = "Audit."\noutput = "review"\n'
    )
    (roles / "runner.toml").write_text(
        'name = "runner"\npermissions = ["read_files", "execute_commands"]\nprompt = "Run."\n'
    )
    for role, state in (("runner", "idle"), ("auditor", "awaiting_approval")):
        replies = [call("execute_command", command="ls"), "Done."]
        async with live_server(tmp_path, replies=replies, ask="at_commit") as client:
            chat = await client.chat(role=role)
            assert (await chat.send("look"))["state"] == state
