"""How a plan ends: done work counts, the model's word is shown as claimed, and every face tells the same of each step."""

from pathlib import Path
from typing import Any

import pytest

from anycowork.tui.chat_state import ChatStatus
from anycowork.tui.plan_text import plan_standing
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

Json = dict[str, Any]


def step(action: str, **parts: Any) -> Json:
    return {"action": action, **parts}


def create(path: str) -> str:
    return call("create_file", path=path, content="x\n")


async def run_plan(client: LiveServer, *steps: Json) -> LiveChat:
    chat = await client.chat()
    proposed = await client.ask(
        "POST", f"{chat.path}/plans", {"plan": {"goal": "Work", "steps": list(steps)}}, expect=201
    )
    await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
    await chat.rest()
    return chat


async def audit_of(client: LiveServer, chat: LiveChat) -> Json:
    (plan,) = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
    return plan


async def ended(client: LiveServer, chat: LiveChat) -> tuple[str, str, list[str]]:
    """The turn's end, the plan's status and its steps': compared in the events, the audit, the exports and the terminal."""
    audit = await audit_of(client, chat)
    steps = {one["id"]: one["status"] for one in audit["steps"]}
    events = await chat.events()
    terminal = ChatStatus("actor")
    for event in events:
        terminal.see(event)
    told = [event["plan"] for event in events if event["type"] == "plan-update"][-1]
    assert (told["status"], {one["id"]: one["status"] for one in told["steps"]}) == (audit["status"], steps)
    exported = await client.ask("GET", f"{chat.path}/export?format=json")
    (plan,) = exported["exported"]["plans"]
    assert {one["id"]: one["status"] for one in plan["steps"]} == steps
    standing = plan_standing(terminal.carried_out or {}) or ""
    words = {"open": "not done", "claimed": "claimed (only the agent says so)"}
    assert standing.splitlines()[1:] == [
        f"  {step['id']} {words.get(step['status'], step['status'])}: {step['intended']['action']}"
        for step in audit["steps"]
    ], "the state stands beside each step"
    return events[-1]["reason"], audit["status"], list(steps.values())


@proves("LOOP-12/1", "LOOP-10/5")
async def test_plan_goes_on_after_a_check_that_writes_files(tmp_path: Path) -> None:
    build = (
        "import pathlib; p = pathlib.Path('dist'); p.mkdir(exist_ok=True); (p / 'out').write_text(open('a.txt').read())"
    )
    files = {"tools/build.py": build, ".gitignore": "dist/\n"}
    steps = (
        step("Make a", tools_needed=["create_file"], paths=["a.txt"], check="python3 tools/build.py"),
        step(
            "Make b", tools_needed=["create_file"], paths=["b.txt"], check="python3 tools/build.py", dependencies=["1"]
        ),
    )
    async with live_server(tmp_path, replies=[create("a.txt"), create("b.txt"), "Done."], files=files) as client:
        chat = await run_plan(client, *steps)
        assert await ended(client, chat) == ("answered", "done", ["done", "done"])
        assert [result["status"] for result in await chat.results()] == ["ok"] * 4
        assert not (client.workspace / "dist").exists(), "a check leaves nothing behind"


@proves("PLN-5/6", "LOOP-12/4")
async def test_plan_that_nobody_worked_on_says_so_of_every_step(tmp_path: Path) -> None:
    steps = (
        step("Check it", check="true"),
        step("Make b", tools_needed=["create_file"], paths=["b.txt"]),
        step("Think it over"),
    )
    async with live_server(tmp_path, replies=["Hello there.", "Hello there."]) as client:
        chat = await run_plan(client, *steps)
        assert await ended(client, chat) == ("blocked", "blocked", ["open", "open", "open"])
        notice = (await chat.last())["content"]
        assert all(name in notice for name in ("1 (Check it)", "2 (Make b)", "3 (Think it over)"))


@proves("LOOP-12/2")
@pytest.mark.parametrize(
    "words",
    [
        "Step 2: b.txt is already right, so there is nothing to change.",
        "1. Made a.txt.\n2. Nothing to change there, b.txt is as it should be.",
        "Made a.txt. Make b was not needed because the file exists.",
    ],
)
async def test_open_step_that_the_model_names_with_the_reason_is_claimed(tmp_path: Path, words: str) -> None:
    steps = (
        step("Make a", tools_needed=["create_file"], paths=["a.txt"]),
        step("Make b", tools_needed=["create_file"], paths=["b.txt"]),
    )
    async with live_server(tmp_path, replies=[create("a.txt"), words], files={"b.txt": "x"}) as client:
        chat = await run_plan(client, *steps)
        assert await ended(client, chat) == ("answered", "done", ["done", "claimed"])


@pytest.mark.parametrize(
    "words",
    ["All done!", "Step 2 is done.", "Step 2 could not be done because the disk is full.", "I made 2 files today."],
)
async def test_open_step_without_a_reason_or_said_to_have_failed_blocks_the_plan(tmp_path: Path, words: str) -> None:
    steps = (step("Make a", paths=["a.txt"]), step("Make b", paths=["b.txt"]))
    async with live_server(tmp_path, replies=[create("a.txt"), words, words]) as client:
        chat = await run_plan(client, *steps)
        assert await ended(client, chat) == ("blocked", "blocked", ["done", "open"])


async def test_no_word_of_the_model_accounts_for_a_denied_call_or_a_failed_check(tmp_path: Path) -> None:
    steps = (step("Make a", tools_needed=["create_file"]), step("Make b", paths=["b.txt"], check="false"))
    said = "Step 1 needed nothing because it was fine. Step 2 is good because the check is wrong."
    async with live_server(tmp_path, replies=[create("a.txt"), create("b.txt"), said, said]) as client:
        chat = await run_plan(client, *steps)
        await chat.decide("deny")
        assert await ended(client, chat) == ("blocked", "blocked", ["failed", "failed"])


@proves("LOOP-12/1")
async def test_step_that_was_done_differently_does_not_hold_up_the_next_one_once_the_model_says_so(
    tmp_path: Path,
) -> None:
    steps = (
        step("Make a", tools_needed=["create_file"], paths=["a.txt"]),
        step("Make b", tools_needed=["create_file"], paths=["b.txt"], dependencies=["1"]),
    )
    replies = [create("b.txt"), "Step 1 needs nothing: a.txt was there already.\n\n" + create("b.txt"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}) as client:
        chat = await run_plan(client, *steps)
        while await chat.approvals():  # a call beside words asks, plan or not
            await chat.decide()
        assert await ended(client, chat) == ("answered", "done", ["claimed", "done"])


async def test_file_that_an_allowed_command_wrote_counts_to_its_step(tmp_path: Path) -> None:
    steps = (step("Log it", tools_needed=["create_file"], paths=["log.txt"]),)
    replies = [call("execute_command", command="echo a >> log.txt"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await run_plan(client, *steps)
        await chat.decide()
        assert await ended(client, chat) == ("answered", "done", ["done"])
        plan = await audit_of(client, chat)
        assert plan["unplanned"] == [] and [done["tool"] for done in plan["steps"][0]["done"]] == ["execute_command"]


async def test_message_to_a_blocked_plan_keeps_it_until_the_person_drops_it(tmp_path: Path) -> None:
    steps = (step("Make a", paths=["a.txt"]), step("Make b", paths=["b.txt"]), step("Make c", paths=["c.txt"]))
    replies = [
        create("a.txt"),
        "Enough.",
        "Enough.",
        "You asked why.",
        create("b.txt"),
        "Enough.",
        "Enough.",
        create("c.txt"),
    ]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await run_plan(client, *steps)
        await chat.send("why did you stop?")
        assert await ended(client, chat) == ("blocked", "blocked", ["done", "open", "open"])
        assert len(client.model.requests) == 4, "a question is answered, not taken for an order to go on"
        await chat.send("go on")
        assert await chat.approvals() == [], "what the plan grants is not asked again"
        assert await ended(client, chat) == ("blocked", "blocked", ["done", "done", "open"])
        await client.ask("POST", f"{chat.path}/messages", {"content": "c alone", "keep_plan": False}, expect=202)
        await chat.rest()
        [asked] = await chat.approvals()
        assert asked["tool"] == "create_file", "without the plan its files are asked about"


async def test_message_after_the_model_failed_in_a_plan_goes_on_with_the_plan(tmp_path: Path) -> None:
    steps = (step("Make a", paths=["a.txt"]), step("Make b", paths=["b.txt"]))
    unusable = '{"tool": "create_file", "parameters": {"path": "b.txt"}}'
    replies = [create("a.txt"), unusable, unusable, unusable, create("b.txt"), "Both are there."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await run_plan(client, *steps)
        assert await ended(client, chat) == ("failed", "blocked", ["done", "open"])
        await chat.send("go on")
        assert await chat.approvals() == [], "what the plan grants is not asked again"
        assert (await ended(client, chat))[2] == ["done", "done"]


async def test_budget_of_a_kept_plan_is_not_begun_anew_by_a_message(tmp_path: Path) -> None:
    steps = [step("Make them", paths=["*.txt"], check="test -e z.txt")]
    replies = [create("a.txt"), "Enough.", "Enough.", create("b.txt")]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        plan = {"goal": "Work", "steps": steps, "budget": {"calls": 1}}
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        await chat.rest()
        await chat.send("go on")
        [asked] = await chat.approvals()
        assert any("budget" in reason or "calls" in reason for reason in asked["reasons"])
