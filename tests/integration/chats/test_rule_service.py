"""Standing rules through HTTP: made by a decision or written by hand, kept over a restart, explained and previewed."""

from pathlib import Path

import pytest

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves


def create(path: str) -> str:
    return call("create_file", path=path, content="x")


async def rules_of(client: LiveServer) -> list[dict[str, object]]:
    return (await client.ask("GET", "/rules"))["rules"]


async def decide(
    client: LiveServer, chat: LiveChat, decision: str, *, expect: int = 200, **more: object
) -> dict[str, object]:
    pending = await chat.approvals()
    body = {"decisions": [{"id": item["id"], "decision": decision, **more} for item in pending]}
    return await client.ask("POST", f"{chat.path}/approvals", body, expect=expect)


@proves("APR-1", "APR-2")
async def test_always_allow_for_this_chat_does_not_leak_to_another(tmp_path: Path) -> None:
    replies = [create("src/a"), create("src/b"), create("src/deep/c"), "No.", create("src/d")]
    async with live_server(tmp_path, replies=replies) as client:
        chat, other = await client.chat(), await client.chat()
        await chat.send("create them")
        approval = (await chat.approvals())[0]
        assert approval["proposed_rule"]["resource"] == "/src/*"
        made = (await decide(client, chat, "allow_session"))["approvals"][0]["rule"]
        assert (made["scope"], made["context_id"], made["resource"]) == ("session", chat.id, "/src/*")
        assert (await chat.rest())["state"] == "awaiting_approval", "the folder below is not covered"
        assert (client.workspace / "src/a").exists() and (client.workspace / "src/b").exists()
        assert [item["resource"] for item in await chat.approvals()] == ["/src/deep/c"]
        await chat.decide("deny")
        assert (await other.send("create"))["state"] == "awaiting_approval"


@proves("APR-2")
async def test_always_allow_at_the_root_does_not_let_an_agent_write_its_own_instructions(tmp_path: Path) -> None:
    async with live_server(
        tmp_path, replies=[create("a.txt"), create("AGENTS.md"), create("b.txt"), "Done."]
    ) as client:
        chat = await client.chat()
        await chat.send("create them")
        await chat.decide("allow_always")
        (approval,) = await chat.approvals()
        assert (approval["resource"], approval["proposed_rule"]["resource"]) == ("/AGENTS.md", "/AGENTS.md")
        await chat.decide("allow_always")
        assert sorted(path.name for path in client.workspace.iterdir()) == ["AGENTS.md", "a.txt", "b.txt"]


@proves("APR-1", "APR-2")
async def test_always_holds_in_the_workspace_and_after_a_restart(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[create("src/a"), "Done."]) as client:
        chat = await client.chat()
        await chat.send("create it")
        await decide(client, chat, "allow_always")
        assert (await chat.rest())["state"] == "idle"
        (rule,) = await rules_of(client)
        assert (rule["scope"], rule["workspace"], rule["effect"]) == ("workspace", str(client.workspace), "allow")
        assert rule["created_by"] == "person:owner" and rule["created_at"]
        decided = [e["approval"] for e in await chat.events() if e["type"] == "permission-decided"]
        assert decided[0]["rule"]["id"] == rule["id"]
    async with live_server(tmp_path, replies=[create("src/b"), "Done."]) as client:
        another = await client.chat()
        assert (await another.send("create it"))["state"] == "idle"
        assert (client.workspace / "src/b").exists()


@proves("APR-2")
async def test_a_sessions_rule_holds_after_a_restart_and_goes_with_its_chat(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[create("a"), "Done."]) as client:
        chat = await client.chat()
        await chat.send("create it")
        await decide(client, chat, "allow_session")
        await chat.rest()
    async with live_server(tmp_path, replies=[create("b"), "Done."]) as client:
        again = LiveChat(client, await client.ask("GET", chat.path))
        assert (await again.send("another"))["state"] == "idle"
        assert (client.workspace / "b").exists()
        await client.ask("DELETE", chat.path, expect=204)
        assert await rules_of(client) == []


@proves("APR-1")
async def test_a_decision_may_bring_its_own_rule_if_it_matches(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[create("src/a"), "Done."]) as client:
        chat = await client.chat()
        await chat.send("create it")
        for rule, said in (
            ({"resource": "/docs/*"}, "does not match"),
            ({"resource": "/src/*", "effect": "deny"}, "add such a rule at /rules"),
            ({"resource": "/src/*", "tool": "delete_file"}, "does not match"),
            ({"resource": "/src/*", "workspace": "/elsewhere"}, "a different workspace"),
            ({"resource": "/src/*", "context_id": "x"}, "different chat"),
            ({"resource": "/src/../*"}, "'..'"),
        ):
            refused = await decide(client, chat, "allow_always", expect=422, rule=rule)
            assert said in refused["error"]["message"] and refused["error"]["param"].startswith("decisions.0.rule"), (
                rule
            )
        await decide(client, chat, "allow_once", expect=422, rule={"resource": "/src/*"})
        assert await rules_of(client) == [] and len(await chat.approvals()) == 1, "all of a decision or nothing"
        await decide(client, chat, "allow_always", rule={"resource": "/src/**", "scope": "global"})
        assert [(r["scope"], r["resource"]) for r in await rules_of(client)] == [("global", "/src/**")]


async def test_no_standing_answer_to_a_command_that_cannot_be_judged(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("execute_command", command="eval ls"), "Done."]) as client:
        chat = await client.chat()
        await chat.send("run it")
        (approval,) = await chat.approvals()
        assert approval["proposed_rule"] is None and any("No rule can allow" in r for r in approval["reasons"])
        refused = await decide(client, chat, "allow_always", expect=422)
        assert "allow_once" in refused["error"]["message"]


@proves("APR-2")
async def test_rules_are_listed_edited_and_revoked(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[create("a"), create("b"), "No.", create("c"), "Done."]) as client:
        requested = {"tool": "create_file", "resource": "/a", "effect": "deny", "scope": "workspace", "workspace": "."}
        requested["workspace"] = str(client.workspace)
        rule = await client.ask("POST", "/rules", requested, expect=201)
        assert rule["warnings"] == [] and [r["id"] for r in await rules_of(client)] == [rule["id"]]
        chat = await client.chat()
        assert (await chat.send("create"))["state"] == "awaiting_approval"
        denied = (await chat.results())[0]
        assert (denied["status"], denied["error"]["code"]) == ("refused", "denied_by_rule")
        assert "the agent may never create /a" in denied["error"]["message"]
        await chat.decide("deny")
        changed = await client.ask("PATCH", f"/rules/{rule['id']}", {"effect": "allow", "resource": "*"})
        assert changed["warnings"] and (changed["effect"], changed["resource"]) == ("allow", "*")
        assert (await chat.send("create"))["state"] == "idle" and (client.workspace / "c").exists()
        await client.ask("DELETE", f"/rules/{rule['id']}", expect=204)
        for method, body in (("DELETE", None), ("PATCH", {"effect": "deny"})):
            gone = await client.ask(method, f"/rules/{rule['id']}", body, expect=404)
            assert gone["error"]["code"] == "rule_not_found"
        assert await rules_of(client) == []


@proves("APR-3/3", "APR-3/8")
async def test_reading_passes_but_a_rule_or_a_key_file_makes_it_ask(tmp_path: Path) -> None:
    replies = [
        call("read_file", path="a.txt"),
        call("read_file", path="b.txt"),
        call("read_file", path=".env"),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "a", "b.txt": "b", ".env": "KEY=1"}) as client:
        rule = {"tool": "read_file", "resource": "/b.txt", "effect": "ask", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat(role="planner")
        assert (await chat.send("read"))["state"] == "awaiting_approval"
        (approval,) = await chat.approvals()
        assert approval["resource"] == "/b.txt" and any("asks a person" in reason for reason in approval["reasons"])
        assert (await chat.decide())["state"] == "awaiting_approval"
        assert [item["resource"] for item in await chat.approvals()] == ["/.env"]
        await chat.decide("deny")
        assert [r["status"] for r in await chat.results()] == ["ok", "ok", "denied"]


@proves("APR-4/1", "APR-4/2", "LOOP-6/1")
async def test_a_batch_is_asked_at_once_reads_included(tmp_path: Path) -> None:
    batch = create("a") + call("read_file", path="k.pem") + create("b")
    async with live_server(tmp_path, replies=[batch, "Done."], files={"k.pem": "key"}) as client:
        chat = await client.chat()
        await chat.send("all of it")
        pending = await chat.approvals()
        assert len(pending) == 3 and len({item["batch_id"] for item in pending}) == 1
    async with live_server(tmp_path, replies=["Done."]) as client:
        again = LiveChat(client, await client.ask("GET", chat.path))
        kept = await again.approvals()
        assert [item["id"] for item in kept] == [item["id"] for item in pending], "they survive a restart"
        one = {"decisions": [{"id": kept[0]["id"], "decision": "allow_once"}]}
        twice = {"decisions": [*one["decisions"], {"id": kept[0]["id"], "decision": "deny"}]}
        await client.ask("POST", f"{again.path}/approvals", twice, expect=422)
        await client.ask("POST", f"{again.path}/approvals", one, expect=200)
        assert (await again.rest())["state"] == "awaiting_approval" and await again.results() == [], "the others wait"
        assert [item["id"] for item in await again.approvals()] == [item["id"] for item in kept[1:]]
        choices = [("deny", kept[1]), ("allow_session", kept[2])]
        body = {"decisions": [{"id": item["id"], "decision": decision} for decision, item in choices]}
        await client.ask("POST", f"{again.path}/approvals", body, expect=200)
        await again.rest()
        assert sorted(r["status"] for r in await again.results()) == ["denied", "ok", "ok"]


@proves("APR-6/1")
async def test_a_rule_that_asks_or_denies_is_stronger_than_an_approved_plan(tmp_path: Path) -> None:
    plan = {
        "goal": "g",
        "steps": [{"action": "a", "tools_needed": ["create_file"], "paths": ["asked.txt", "denied.txt", "free.txt"]}],
    }
    replies = [create("free.txt"), create("denied.txt"), create("asked.txt"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        for name in ("ask", "deny"):
            wanted = {"ask": "/asked.txt", "deny": "/denied.txt"}[name]
            rule = {"tool": "create_file", "resource": wanted, "effect": name, "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert [r["status"] for r in await chat.results()] == ["ok", "refused"]
        assert [(i["resource"], i["outside_plan"]) for i in await chat.approvals()] == [("/asked.txt", False)]


@proves("APR-7/1")
async def test_explain_names_the_rule_that_decides_and_runs_nothing(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "a"}) as client:
        chat, planner = await client.chat(), await client.chat(role="planner")

        async def explain(tool: str, where: LiveChat = chat, **parameters: object) -> dict[str, object]:
            wanted = {"call": {"tool": tool, "parameters": parameters, "context_id": where.id}}
            return await client.ask("POST", "/rules/explain", wanted, expect=200)

        before = await explain("create_file", path="src/x", content="")
        assert (before["effect"], before["rule"]) == ("ask", None) and "No rule covers it" in before["why"]
        requested = {"tool": "create_file", "resource": "/src/*", "effect": "allow", "scope": "global"}
        rule = await client.ask("POST", "/rules", requested, expect=201)
        after = await explain("create_file", path="src/x", content="")
        assert after["effect"] == "allow" and after["rule"]["id"] == rule["id"] and "allows it" in after["why"]
        refused = await explain("create_file", planner, path="src/x", content="")
        assert (refused["effect"], refused["rule"]) == ("deny", None) and "Planner may not" in refused["why"]
        assert (await explain("read_file", path="a.txt"))["effect"] == "allow"
        assert (await explain("read_file", path="../x"))["effect"] == "deny"
        failing = await explain("create_file", path="a.txt", content="")
        assert failing["effect"] == "ask" and "would currently fail" in failing["why"]
        command = await explain("execute_command", command="git status; rm -rf .")
        assert command["effect"] == "ask"
        assert not (client.workspace / "src").exists() and await chat.approvals() == []
        for bad in ({"tool": "nothing", "parameters": {}}, {"tool": "create_file", "parameters": {}}):
            await client.ask("POST", "/rules/explain", {"call": {**bad, "context_id": chat.id}}, expect=422)
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        passes = await explain("create_file", path="other", content="")
        assert passes["effect"] == "allow" and "autonomy 'edits' lets it pass" in passes["why"]
        lost = {"call": {"tool": "grep", "parameters": {}, "context_id": "none"}}
        await client.ask("POST", "/rules/explain", lost, expect=404)


@proves("APR-7")
async def test_explain_takes_a_call_as_a_model_writes_it_with_its_chat_beside_it_or_without_one(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        planner = await client.chat(role="planner")
        requested = {"call": {"tool": "create_file", "parameters": {"path": "a", "content": ""}, "terminate": True}}
        assert (await client.ask("POST", "/rules/explain", requested))["effect"] == "ask", "as a new chat's actor"
        assert (await client.ask("POST", "/rules/explain", {**requested, "context_id": planner.id}))["effect"] == "deny"


@proves("TOOL-1/2")
async def test_explaining_an_unknown_tool_lists_no_tools(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        requested = {"call": {"tool": "nothing", "parameters": {}}}
        error = (await client.ask("POST", "/rules/explain", requested, expect=422))["error"]
        assert (error["param"], error["message"]) == ("call.tool", "There is no tool 'nothing'.")


@proves("APR-7/2")
async def test_preview_shows_past_calls_and_saves_nothing(tmp_path: Path) -> None:
    replies = [create("src/a"), call("read_file", path="src/a"), call("execute_command", command="git status"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("go")
        await chat.decide()
        await chat.decide("deny")

        async def preview(**requested: str) -> dict[str, object]:
            rule = {"effect": "allow", "scope": "global", **requested}
            return await client.ask("POST", "/rules/preview", {"rule": rule}, expect=200)

        seen = await preview(tool="create_file", resource="/src/*")
        assert seen["matched"] == 1 and seen["looked_at"] == 3
        (shown,) = seen["calls"]
        assert (shown["tool"], shown["resource"]) == ("create_file", "/src/a")
        assert (shown["decided"], shown["would"]) == ("ask", "allow")
        assert (await preview(tool="create_file", resource="/docs/*"))["matched"] == 0
        assert (await preview(tool="execute_command", resource="git *"))["calls"][0]["resource"] == "command:git status"
        denied = await preview(tool="*", resource="/src/**", effect="deny")
        assert {(c["tool"], c["would"]) for c in denied["calls"]} == {("create_file", "deny"), ("read_file", "deny")}
        assert (await preview(tool="*", resource="*"))["warnings"]
        assert await rules_of(client) == []
        forbids = {"tool": "create_file", "resource": "/src/**", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", forbids, expect=201)
        (shown,) = (await preview(tool="create_file", resource="/src/*"))["calls"]
        assert (shown["decided"], shown["would"]) == ("deny", "deny"), "the other rules hold beside it"


@proves("APR-2")
async def test_a_rule_for_the_workspace_that_names_none_holds_in_the_one_that_new_chats_get(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        requested = {"tool": "create_file", "resource": "/a", "effect": "deny", "scope": "workspace"}
        rule = await client.ask("POST", "/rules", requested, expect=201)
        assert rule["workspace"] == (await client.chat()).opened["workspace"] == str(client.workspace)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"scope": "everywhere"}, "scope"),
        ({"effect": "maybe"}, "effect"),
        ({"surprise": 1}, "surprise"),
        ({"resource": ""}, "resource"),
        ({"resource": "/a/../b"}, "resource"),
        ({"scope": "session"}, "context_id"),
        ({"scope": "session", "context_id": "none"}, "context_id"),
        ({"scope": "workspace", "workspace": "/"}, "workspace"),
        ({"expires_at": "soon"}, "expires_at"),
    ],
)
async def test_a_rule_that_cannot_be_is_a_422_that_names_the_field(
    tmp_path: Path, change: dict[str, object], param: str
) -> None:
    async with live_server(tmp_path) as client:
        requested = {"tool": "update_file", "resource": "/src/*", "effect": "allow", "scope": "global", **change}
        refused = await client.ask("POST", "/rules", requested, expect=422)
        assert refused["error"]["param"] == param
        assert await rules_of(client) == []


@proves("APR-3/2")
async def test_a_contained_command_that_rules_cover_runs_unasked_and_one_more_part_asks(tmp_path: Path) -> None:
    replies = [call("execute_command", command=text) for text in ("echo hello", "echo hello; rm -f a.txt")]
    async with live_server(tmp_path, replies=[*replies, "Done."], files={"a.txt": "a"}) as client:
        rule = {"tool": "execute_command", "resource": "echo *", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        tool = client.server.services.rules._toolbox.find("execute_command")
        chat = await client.chat()
        await chat.send("run both")
        if tool is None or not tool.spec.contained:
            assert [a["resource"] for a in await chat.approvals()] == ["command:echo hello"], (
                "without a sandbox all ask"
            )
            return
        assert [r["status"] for r in await chat.results()] == ["ok"]
        assert [a["resource"] for a in await chat.approvals()] == ["command:echo hello; rm -f a.txt"]
        assert (client.workspace / "a.txt").exists()


@proves("APR-1", "APR-2")
async def test_deny_always_makes_the_deny_rule_that_was_shown(tmp_path: Path) -> None:
    replies = [create("src/a"), "No.", create("src/a"), "No again.", create("src/b"), "Waiting."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("create it")
        (approval,) = await chat.approvals()
        shown = approval["proposed_deny_rule"]
        assert (shown["effect"], shown["tool"], shown["resource"]) == ("deny", "create_file", "/src/a")
        made = (await decide(client, chat, "deny_always"))["approvals"][0]["rule"]
        assert (made["effect"], made["resource"], made["scope"]) == ("deny", "/src/a", "workspace")
        assert (await chat.rest())["state"] == "idle"
        assert (await chat.results())[0]["status"] == "denied"
        assert (await chat.send("again"))["state"] == "idle", "the rule decides, nobody is asked"
        assert (await chat.results())[1]["status"] in ("denied", "refused") and not (
            client.workspace / "src/a"
        ).exists()
        assert (await chat.send("another file"))["state"] == "awaiting_approval", "it names that one file only"


async def test_deny_always_refuses_a_rule_that_allows_or_misses_the_call(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[create("src/a"), "No."]) as client:
        chat = await client.chat()
        await chat.send("create it")
        for rule in ({"resource": "/src/*", "effect": "allow"}, {"resource": "/docs/*"}):
            await decide(client, chat, "deny_always", expect=422, rule=rule)
        await decide(client, chat, "deny", expect=422, rule={"resource": "/src/*"})
        assert await rules_of(client) == [] and len(await chat.approvals()) == 1
        await decide(client, chat, "deny_always", rule={"resource": "/src/**"})
        assert [(rule["effect"], rule["resource"]) for rule in await rules_of(client)] == [("deny", "/src/**")]


async def test_deny_always_is_refused_where_no_rule_can_name_the_call(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("execute_command", command="eval ls"), "Done."]) as client:
        chat = await client.chat()
        await chat.send("run it")
        (approval,) = await chat.approvals()
        assert approval["proposed_deny_rule"] is None
        refused = await decide(client, chat, "deny_always", expect=422)
        assert "use 'deny'" in refused["error"]["message"] and len(await chat.approvals()) == 1
