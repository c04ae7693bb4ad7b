"""A person's denial is final for its call: attempts to run a denied call by a rule, a plan, a neighbour, a restart or held changes."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any  # a test's own words

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

FILES = {"junk.txt": "junk", "keep.txt": "keep"}
BOTH = json.dumps([json.loads(call("delete_file", path=name)) for name in FILES])
ANYTHING = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}


async def decide(client: LiveServer, chat: LiveChat, *decisions: tuple[str, str], at_once: bool = True) -> None:
    """`(resource, decision)` each, in this order; in one request or one after the other."""
    ids = {item["resource"]: item["id"] for item in await chat.approvals()}
    told = [{"id": ids[resource], "decision": decision} for resource, decision in decisions]
    for part in [told] if at_once else [[one] for one in told]:
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": part}, expect=200)
    await chat.rest()


@proves("APR-10/3")
@pytest.mark.parametrize("at_once", [True, False], ids=["one request", "two requests"])
@pytest.mark.parametrize("allowed", ["allow_session", "allow_always"])
@pytest.mark.parametrize("denied_first", [True, False], ids=["denied first", "denied last"])
async def test_rule_made_by_a_neighbour_does_not_run_a_denied_call(
    tmp_path: Path, denied_first: bool, allowed: str, at_once: bool
) -> None:
    async with live_server(tmp_path, replies=[BOTH, "Done."], files=FILES) as client:
        chat = await client.chat()
        await chat.send("delete both")
        order: Sequence[tuple[str, str]] = [("/keep.txt", "deny"), ("/junk.txt", allowed)]
        await decide(client, chat, *(order if denied_first else order[::-1]), at_once=at_once)
        assert (client.workspace / "keep.txt").read_text() == "keep"
        assert not (client.workspace / "junk.txt").exists()
        assert sorted(result["status"] for result in await chat.results()) == ["denied", "ok"]
        assert (await chat.show())["state"] == "idle"


@proves("APR-10/2")
async def test_rule_made_by_hand_before_the_last_decision_does_not_run_a_denied_call(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[BOTH, "Done."], files=FILES) as client:
        chat = await client.chat()
        await chat.send("delete both")
        pending = {item["resource"]: item["id"] for item in await chat.approvals()}
        deny = {"decisions": [{"id": pending["/keep.txt"], "decision": "deny"}]}
        await client.ask("POST", f"{chat.path}/approvals", deny)
        await client.ask("POST", "/rules", ANYTHING, expect=201)
        await decide(client, chat, ("/junk.txt", "allow_once"))
        assert (client.workspace / "keep.txt").exists() and not (client.workspace / "junk.txt").exists()


@proves("APR-10/1")
async def test_rule_made_before_the_call_does_not_run_it_once_it_was_denied(tmp_path: Path) -> None:
    """An older rule allows everything and a second one asks; the person denies the call, and the rule that asks goes."""
    async with live_server(tmp_path, replies=[BOTH, "Done."], files=FILES) as client:
        await client.ask("POST", "/rules", ANYTHING, expect=201)
        asking = await client.ask("POST", "/rules", {**ANYTHING, "effect": "ask"}, expect=201)
        chat = await client.chat()
        await chat.send("delete both")
        pending = {item["resource"]: item["id"] for item in await chat.approvals()}
        deny = {"decisions": [{"id": pending["/keep.txt"], "decision": "deny"}]}
        await client.ask("POST", f"{chat.path}/approvals", deny)
        await client.ask("DELETE", f"/rules/{asking['id']}", expect=204)
        await decide(client, chat, ("/junk.txt", "allow_once"))
        assert (client.workspace / "keep.txt").exists() and not (client.workspace / "junk.txt").exists()


@proves("APR-10/6")
async def test_denial_holds_over_a_restart_between_the_decisions(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[BOTH], files=FILES) as client:
        chat = await client.chat()
        await chat.send("delete both")
        pending = {item["resource"]: item["id"] for item in await chat.approvals()}
        deny = {"decisions": [{"id": pending["/keep.txt"], "decision": "deny"}]}
        await client.ask("POST", f"{chat.path}/approvals", deny)
    async with live_server(tmp_path, replies=["Done."]) as client:
        again = LiveChat(client, await client.ask("GET", chat.path))
        await decide(client, again, ("/junk.txt", "allow_always"))
        assert (client.workspace / "keep.txt").exists() and not (client.workspace / "junk.txt").exists()


@proves("APR-10/4")
async def test_approved_plan_does_not_run_a_denied_call(tmp_path: Path) -> None:
    """The plan grants the call, a rule asks for it, the person denies it, and the rule goes before the turn goes on."""
    async with live_server(tmp_path, replies=[BOTH, "Done.", "Done."], files=FILES) as client:
        asks = {"tool": "delete_file", "resource": "*", "effect": "ask", "scope": "global"}
        rule = await client.ask("POST", "/rules", asks, expect=201)
        chat = await client.chat()
        step = {"action": "delete", "tools_needed": ["delete_file"], "paths": list(FILES)}
        plan = {"goal": "tidy", "steps": [step]}
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {})
        await chat.rest()
        pending = {item["resource"]: item["id"] for item in await chat.approvals()}
        deny = {"decisions": [{"id": pending["/keep.txt"], "decision": "deny"}]}
        await client.ask("POST", f"{chat.path}/approvals", deny)
        await client.ask("DELETE", f"/rules/{rule['id']}", expect=204)
        await decide(client, chat, ("/junk.txt", "allow_once"))
        assert (client.workspace / "keep.txt").exists() and not (client.workspace / "junk.txt").exists()


@proves("APR-10")
@pytest.mark.parametrize("restart", [False, True])
async def test_rule_does_not_make_held_changes_that_were_denied(tmp_path: Path, restart: bool) -> None:
    """The command has run in its own layer; the person denies its changes, and a rule allows everything meanwhile."""
    replies = [call("execute_command", command="rm keep.txt"), "Done."]
    async with live_server(tmp_path, replies=replies, files=FILES, ask="at_commit") as client:
        chat = await client.chat()
        await chat.send("delete it")
        (approval,) = await chat.approvals()
        assert approval["held"]
        if not restart:
            await client.ask("POST", "/rules", ANYTHING, expect=201)
            await chat.decide("deny")
    if restart:
        async with live_server(tmp_path, replies=["Done."], ask="at_commit") as client:
            await client.ask("POST", "/rules", ANYTHING, expect=201)
            await LiveChat(client, await client.ask("GET", chat.path)).decide("deny")
    assert (tmp_path / "workspace/keep.txt").exists()


@proves("APR-10/7")
async def test_same_change_in_another_call_is_asked_again(tmp_path: Path) -> None:
    again = call("delete_file", path="./keep.txt")
    async with live_server(tmp_path, replies=[BOTH, again, "Done."], files=FILES) as client:
        chat = await client.chat()
        await chat.send("delete both")
        await decide(client, chat, ("/keep.txt", "deny"), ("/junk.txt", "allow_session"))
        assert [item["resource"] for item in await chat.approvals()] == ["/keep.txt"]
        assert (client.workspace / "keep.txt").exists()
        await chat.decide("allow_once")
        assert not (client.workspace / "keep.txt").exists()


# --- any history


@dataclass(frozen=True)
class History:
    """What happens between the reply with the calls and its end. Call `n` touches the file `n` only."""

    kinds: tuple[str, ...]
    decisions: tuple[str, ...]
    order: tuple[int, ...]
    meanwhile: tuple[str, ...]
    plan: bool
    at_commit: bool


KINDS = st.sampled_from(["delete", "update", "command", "read"])
DECISIONS = st.sampled_from(["deny", "deny", "allow_once", "allow_session", "allow_always"])
MEANWHILE = st.sampled_from(["nothing", "allow everything", "restart", "change files", "stop asking"])


@st.composite
def histories(draw: st.DrawFn) -> History:
    count = draw(st.integers(2, 4))
    some = st.integers(0, count - 1)
    return History(
        kinds=tuple(draw(st.lists(KINDS, min_size=count, max_size=count))),
        decisions=tuple(draw(st.lists(DECISIONS, min_size=count, max_size=count))),
        order=tuple(draw(st.permutations(range(count)))),
        meanwhile=tuple(draw(st.lists(MEANWHILE, min_size=count, max_size=count))),
        plan=draw(st.booleans()),
        at_commit=draw(st.booleans()) and draw(some) == 0,
    )


def name(kind: str, number: int) -> str:
    return f"{number}.pem" if kind == "read" else f"{number}.txt"


def requested(kind: str, number: int) -> dict[str, Any]:
    path = name(kind, number)
    calls: dict[str, tuple[str, dict[str, str]]] = {
        "delete": ("delete_file", {"path": path}),
        "update": ("update_file", {"path": path, "content": "gone"}),
        "command": ("execute_command", {"command": f"rm {path}"}),
        "read": ("read_file", {"path": path}),
    }
    tool, parameters = calls[kind]
    return {"tool": tool, "parameters": parameters, "terminate": False}


@proves("APR-10")
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories())
def test_denied_call_never_runs_in_any_history(history: History) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(_live_through(Path(folder), history))


async def _live_through(folder: Path, history: History) -> None:
    kinds = history.kinds
    files = {name(kind, n): f"secret {n}" for n, kind in enumerate(kinds)}
    batch = json.dumps([requested(kind, n) for n, kind in enumerate(kinds)])
    reads = json.dumps(
        [
            requested("read", n) | {"parameters": {"path": f"{n}.txt"}}
            for n, kind in enumerate(kinds)
            if kind == "update"
        ]
    )
    replies = [*([reads] if "update" in kinds else []), batch, *["Done."] * 8]
    chosen: dict[str, Any] = {"ask": "at_commit"} if history.at_commit else {}
    denied: set[str] = set()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(live_server(folder, replies=replies, files=files, **chosen))
        asks = {"tool": "*", "resource": "*", "effect": "ask", "scope": "global"}
        rule = await client.ask("POST", "/rules", asks, expect=201) if history.plan else None
        chat = await client.chat()
        await _begin(client, chat, history)
        for at in range(3 * len(kinds)):
            pending = await chat.approvals()
            if not pending:
                break
            item = pending[history.order[at % len(kinds)] % len(pending)]
            decision = history.decisions[int(item["resource"].split(".")[0].strip("/").split()[-1])]
            if decision in ("allow_session", "allow_always") and item["proposed_rule"] is None:
                decision = "allow_once"
            if decision == "deny":
                denied.add(item["tool_call_id"])
            match history.meanwhile[at % len(kinds)]:
                case "allow everything":
                    await client.ask("POST", "/rules", ANYTHING, expect=201)
                case "change files":
                    for path in client.workspace.iterdir():
                        path.write_text(path.read_text() + ".")
                case "stop asking" if rule is not None:
                    await client.ask("DELETE", f"/rules/{rule['id']}", expect=204)
                    rule = None
                case "restart":
                    await stack.aclose()
                    client = await stack.enter_async_context(live_server(folder, replies=["Done."] * 8, **chosen))
                    chat = LiveChat(client, await client.ask("GET", chat.path))
            body = {"decisions": [{"id": item["id"], "decision": decision}]}
            await client.ask("POST", f"{chat.path}/approvals", body)
            if not await chat.approvals():
                await chat.rest()
        results = {result["tool_call_id"]: result for result in await chat.results()}
        for call_id in denied:
            assert results[call_id]["status"] == "denied", results[call_id]
            assert "secret" not in json.dumps(results[call_id])
            shown = json.dumps(results[call_id])
            number = next(n for n, kind in enumerate(kinds) if name(kind, n) in shown)
            assert "secret" in (folder / "workspace" / name(kinds[number], number)).read_text(), history


async def _begin(client: LiveServer, chat: LiveChat, history: History) -> None:
    if not history.plan:
        await chat.send("go")
        return
    names = [name(kind, n) for n, kind in enumerate(history.kinds)]
    step = {
        "action": "all of it",
        "tools_needed": ["delete_file", "update_file", "execute_command", "read_file"],
        "paths": names,
        "commands": [f"rm {path}" for path in names],
    }
    proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": {"goal": "go", "steps": [step]}}, expect=201)
    await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {})
    await chat.rest()


@proves("APR-3")
async def test_a_reader_who_comes_later_learns_what_was_decided_of_a_waiting_batch(tmp_path: Path) -> None:
    batch = json.dumps([json.loads(call("create_file", path=f"{name}.txt", content="x")) for name in "abc"])
    async with live_server(tmp_path, replies=[batch, "Done."]) as client:
        chat = await client.chat()
        await chat.send("make them")
        waiting = await chat.approvals()
        assert len(waiting) == 3, "the three calls are one batch"
        wanted = [(waiting[0], "deny"), (waiting[1], "allow_once")]
        decisions = [{"id": each["id"], "decision": decision} for each, decision in wanted]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
        listed = await client.ask("GET", f"{chat.path}/approvals")
        assert [each["id"] for each in listed["approvals"]] == [waiting[2]["id"]]
        assert {each["tool_call_id"]: each["state"] for each in listed["decided"]} == {
            waiting[0]["tool_call_id"]: "denied",
            waiting[1]["tool_call_id"]: "allowed",
        }
        await chat.decide()
        assert (await client.ask("GET", f"{chat.path}/approvals")) == {"approvals": [], "decided": []}


@proves("APR-10", "LOOP-11")
@pytest.mark.parametrize("decision", ["deny", "deny_always"])
async def test_continuing_a_turn_does_not_run_what_was_denied_in_it(tmp_path: Path, decision: str) -> None:
    """Not even if a rule allows everything by then: the model asks once more for the same, and a person is asked or it is refused."""
    delete = call("delete_file", path="keep.txt")
    replies = [delete, call("read_file", path="junk.txt"), delete, "Done.", "Done.", "Done."]
    async with live_server(tmp_path, replies=replies, files=FILES, max_steps=2) as client:
        chat = await client.chat()
        await chat.send("delete it")
        await chat.decide(decision)
        assert (await chat.show())["continuable"]["reason"] == "limit"
        await client.ask("POST", "/rules", ANYTHING, expect=201)
        await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
        await client.ask("POST", f"{chat.path}/continue", expect=202)
        await chat.rest()
        assert (client.workspace / "keep.txt").read_text() == "keep"
        statuses = [result["status"] for result in await chat.results()]
        assert "ok" not in [statuses[0], *statuses[2:]]
