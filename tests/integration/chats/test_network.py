"""Network for a command through the front door: asked for, shown, allowed, denied, remembered."""

from pathlib import Path

from support.fake_network import FakeNetwork, FakeService, serving
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

FETCH = call("execute_command", command="curl -sS http://good.example/", network=["good.example"])


async def internet(service: FakeService) -> FakeNetwork:
    outside = FakeNetwork()
    outside.put("good.example", 80, service)
    return outside


async def workspace_id(client: LiveServer) -> str:
    return str((await client.ask("GET", "/workspaces"))["workspaces"][0]["id"])


async def rule(client: LiveServer, tool: str, resource: str, effect: str = "allow") -> None:
    body = {"tool": tool, "resource": resource, "effect": effect, "scope": "global"}
    await client.ask("POST", "/rules", body, expect=201)


@proves("TOOL-4", "APR-1", "APR-3/5")
async def test_a_person_is_shown_where_it_goes_and_their_yes_lets_it(tmp_path: Path) -> None:
    async with (
        serving(FakeService()) as service,
        live_server(tmp_path, replies=[FETCH, "Done."], outside=await internet(service)) as client,
    ):
        chat = await client.chat()
        assert (await chat.send("fetch it"))["state"] == "awaiting_approval"
        (approval,) = await chat.approvals()
        assert approval["network"] == ["good.example:443", "good.example:80"] and approval["risk"] == "high"
        assert any("good.example:443, good.example:80" in reason for reason in approval["reasons"])
        assert service.received == []
        await chat.decide()
        (result,) = await chat.results()
        assert result["status"] == "ok" and result["facts"]["network"]["reached"] == {"good.example:80": 1}


@proves("APR-2", "APR-7")
async def test_always_makes_rules_for_the_words_and_for_each_place(tmp_path: Path) -> None:
    async with (
        serving(FakeService()) as service,
        live_server(tmp_path, replies=[FETCH, "Done."] * 3, outside=await internet(service)) as client,
    ):
        chat = await client.chat()
        await chat.send("fetch it")
        await chat.decide("allow_always")
        made = [(item["tool"], item["resource"]) for item in (await client.ask("GET", "/rules"))["rules"]]
        assert made == [
            ("execute_command", "curl -sS http://good.example/"),
            ("network", "good.example:443"),
            ("network", "good.example:80"),
        ]
        await client.ask("PATCH", f"/workspaces/{await workspace_id(client)}", {"trusts_contents": True})
        assert (await chat.send("again"))["state"] == "awaiting_approval"  # the page that came back is the page's word
        (approval,) = await chat.approvals()
        assert approval["endorsement"]["origins"] == ["web:good.example"]
        await chat.decide("allow_session")
        assert (await chat.send("and again"))["state"] == "idle" and len(service.received) == 3
        asked = {"command": "curl -sS http://good.example/", "network": ["evil.example"]}
        requested = {"tool": "execute_command", "parameters": asked, "context_id": chat.id}
        answer = await client.ask("POST", "/rules/explain", {"call": requested})
        assert answer["effect"] == "ask" and "evil.example:443" in answer["why"]


@proves("APR-1", "APR-2")
async def test_a_decision_may_bring_its_own_rule_about_the_place(tmp_path: Path) -> None:
    async with (
        serving(FakeService()) as service,
        live_server(tmp_path, replies=[FETCH, "Done."], outside=await internet(service)) as client,
    ):
        chat = await client.chat()
        await chat.send("fetch it")
        (approval,) = await chat.approvals()
        for resource, expect in (("evil.example", 422), ("http://good.example", 422), ("*.example", 200)):
            own = {"tool": "network", "resource": resource}
            decision = {"id": approval["id"], "decision": "allow_always", "rule": own}
            await client.ask("POST", f"{chat.path}/approvals", {"decisions": [decision]}, expect=expect)
        await chat.rest()
        made = [(item["tool"], item["resource"]) for item in (await client.ask("GET", "/rules"))["rules"]]
        assert made == [("network", "*.example")] and len(service.received) == 1


@proves("APR-2")
async def test_a_denied_place_refuses_the_call_whatever_else_is_allowed(tmp_path: Path) -> None:
    async with serving(FakeService()) as service:
        outside = await internet(service)
        async with live_server(tmp_path, replies=[FETCH, "Done."], outside=outside) as client:
            await rule(client, "*", "*")
            await rule(client, "network", "*.example", "deny")
            chat = await client.chat()
            assert (await chat.send("fetch it"))["state"] == "idle"
            (result,) = await chat.results()
            assert result["status"] == "refused" and result["error"]["code"] == "denied_by_rule"
            assert service.received == [] and outside.asked == []


@proves("APR-6/2")
async def test_a_plan_that_names_the_command_does_not_give_it_network(tmp_path: Path) -> None:
    plan = {
        "goal": "fetch",
        "steps": [{"id": "1", "description": "fetch it", "commands": ["curl -sS http://good.example/"]}],
    }
    async with (
        serving(FakeService()) as service,
        live_server(tmp_path, replies=[FETCH, "Done."], outside=await internet(service)) as client,
    ):
        chat = await client.chat()
        message = (await client.ask("POST", f"{chat.path}/plans", {"plan": plan}))["message_id"]
        await client.ask("POST", f"{chat.path}/plans/{message}/approve", {})
        assert (await chat.rest())["state"] == "awaiting_approval"
        await rule(client, "network", "good.example")
        await chat.decide()
        assert len(service.received) == 1


@proves("PER-3", "TOOL-4")
async def test_a_tester_gets_network_and_a_planner_never(tmp_path: Path) -> None:
    async with (
        serving(FakeService()) as service,
        live_server(tmp_path, replies=[FETCH, "Done.", FETCH, "Done."], outside=await internet(service)) as client,
    ):
        await rule(client, "*", "*")
        planner, tester = await client.chat(role="planner"), await client.chat(role="tester")
        await planner.send("fetch it")
        assert (await planner.results())[0]["error"]["code"] == "forbidden_by_role" and service.received == []
        await tester.send("fetch it")
        assert (await tester.results())[0]["status"] == "ok" and len(service.received) == 1


@proves("SEC-5")
async def test_our_own_api_is_not_reached_even_with_a_rule_that_names_it(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        address = client.url.removeprefix("http://")
        fetch = call("execute_command", command=f"curl -sS {client.url}/healthz", network=[address])
        client.model.replies += [fetch, "Done."]
        await rule(client, "*", "*")
        await rule(client, "network", address)
        chat = await client.chat()
        await chat.send("fetch it")
        (result,) = await chat.results()
        assert "this server itself" in str(result["facts"]["network"]["refused"])
