"""Attempts to get more out of an approved plan than its budget: by the model's own words, by batches, by commands, by another run."""

import json
from pathlib import Path

import pytest

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

STEP = {
    "action": "go",
    "tools_needed": ["create_file"],
    "paths": ["*.txt"],
    "commands": ["touch c.txt"],
    "check": "true",
}
PLAN = {"goal": "one file", "steps": [STEP], "budget": {"calls": 1}}
MORE = json.dumps({**PLAN, "type": "plan", "budget": {"calls": 99}})
A, B = (call("create_file", path=f"{name}.txt", content=name) for name in "ab")
RUN = call("execute_command", command="touch c.txt")


async def approve(client: LiveServer, chat: LiveChat) -> str:
    proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": PLAN}, expect=201)
    await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", expect=202)
    return str(proposed["message_id"])


@proves("APR-6/3")
@pytest.mark.parametrize(
    ("replies", "settings"),
    [
        pytest.param([A, B], {}, id="a second file"),
        pytest.param([A, RUN], {}, id="a command that the plan names"),
        pytest.param([A, RUN], {"ask": "at_commit"}, id="a command that would run first and ask later"),
        pytest.param([f"[{A}, {B}, {RUN}]"], {}, id="all in one batch"),
        pytest.param([RUN, A], {}, id="a command first"),
        pytest.param([A, call("execute_command", command="true")], {}, id="a check that the model calls itself"),
    ],
)  # fmt: skip
async def test_beyond_its_budget_a_plan_gives_nothing(
    tmp_path: Path, replies: list[str], settings: dict[str, str]
) -> None:
    async with live_server(tmp_path, replies=[*replies, "Done."], **settings) as client:
        chat = await client.chat()
        await approve(client, chat)
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert len(list(client.workspace.iterdir())) <= 1
        last = [one["reasons"][-1] for one in await chat.approvals()]
        assert all("The budget of the approved plan is spent" in why for why in last), last


async def test_a_plan_that_the_run_proposes_itself_gives_it_no_new_budget(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[A, MORE, B, "Done."]) as client:
        chat = await client.chat()
        await approve(client, chat)
        await chat.rest()
        assert (await chat.send("go on"))["state"] == "awaiting_approval"
        assert not (client.workspace / "b.txt").exists()


async def test_a_spent_plan_cannot_be_approved_again(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[A, B]) as client:
        chat = await client.chat()
        plan = await approve(client, chat)
        await chat.rest()
        body = {"budget": {"calls": 99}}
        refused = await client.ask("POST", f"{chat.path}/plans/{plan}/approve", body, expect=409)
        assert refused["error"]["code"] and not (client.workspace / "b.txt").exists()
