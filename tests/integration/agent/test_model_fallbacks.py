"""A model whose server is down, limits or refuses: the next one that the person named goes on, in sight, and never into other hands."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from anycowork.config.settings import ProviderEntry
from support.jobs import approved, plan, report, until
from support.live_server import LiveServer, RequestRefused, live_server
from support.scripted_model import BreakOff, HttpError, Reply, Script, ScriptedModel, call
from support.spec import proves

LIMITED = HttpError(429, {"error": {"message": "too many requests"}}, retry_after=0)


@asynccontextmanager
async def two_servers(
    folder: Path,
    first: Sequence[Script],
    second: Sequence[Script],
    *,
    privacy: tuple[str | None, str | None] = (None, None),
    fallbacks: Sequence[str] = ("second/m",),
) -> AsyncIterator[tuple[LiveServer, ScriptedModel, ScriptedModel]]:
    async with ScriptedModel(first, models=("m",)) as one, ScriptedModel(second, models=("m",)) as other:
        entries: list[dict[str, Any]] = [
            {"name": "first", "base_url": one.base_url, "privacy": privacy[0]},
            {"name": "second", "base_url": other.base_url, "privacy": privacy[1]},
        ]
        entries[0]["model_settings"] = {"m": {"fallbacks": fallbacks}}
        entries[1]["prices"] = {"m": {"input": 3, "output": 15}}
        providers = tuple(ProviderEntry.model_validate({**entry, "models": ("m",)}) for entry in entries)
        async with live_server(folder, providers=providers, model="first/m", files={"a.txt": "in a"}) as client:
            yield client, one, other


@proves("MOD-4/1", "MOD-4/2")
@pytest.mark.parametrize(
    "fault",
    [LIMITED, HttpError(401, {"error": {"message": "no such key"}}), HttpError(503, "busy", retry_after=0), BreakOff()],
)
async def test_next_model_goes_on_and_the_chat_says_which_and_what_it_costs(tmp_path: Path, fault: Script) -> None:
    script = [call("read_file", path="a.txt")]
    async with two_servers(tmp_path, script, ["It says: in a."]) as (client, one, other):
        one.mind = lambda body: fault
        chat = await client.chat()
        await chat.send("What does a.txt say?")
        *_, note, answer = await chat.messages()
        assert answer["content"] == "It says: in a." and "in a" in str(other.requests[0]["messages"])
        switch = note["payload"]["model_switch"]
        assert (note["role"], switch["from"], switch["to"]) == ("system", "first/m", "second/m")
        assert switch["price"] == {"input": 3.0, "output": 15.0}
        assert "first/m could not answer" in note["content"]
        assert "it costs $3 per million tokens that it reads and $15 that it writes" in note["content"]
        used = [event["usage"]["model"] for event in await chat.events() if event["type"] == "usage"]
        assert used == ["first/m", "second/m"]
        assert (await chat.show())["config"]["model_id"] in (None, "first/m"), (
            "the next turn asks the chat's own model again"
        )
        one.mind = lambda body: "I am back."
        await chat.send("And now?")
        assert (await chat.last())["content"] == "I am back."


@proves("MOD-4/1")
async def test_each_fallback_is_asked_once_and_the_last_fault_ends_the_turn(tmp_path: Path) -> None:
    async with two_servers(
        tmp_path, [HttpError(401, "")], [HttpError(401, "")], fallbacks=("gone/m", "second/m", "second/m")
    ) as (client, one, other):
        chat = await client.chat()
        await chat.send("Hello")
        ended = (await chat.events())[-1]
        assert ended["reason"] == "failed" and (len(one.requests), len(other.requests)) == (1, 1)
        switches = [message for message in await chat.messages() if "model_switch" in (message["payload"] or {})]
        assert len(switches) == 1


@proves("MOD-4/1")
async def test_an_answer_that_has_begun_is_not_begun_again_elsewhere(tmp_path: Path) -> None:
    async with two_servers(tmp_path, [BreakOff("Half an ans")], ["Another."]) as (client, _, other):
        chat = await client.chat()
        await chat.send("Hello")
        assert (await chat.events())[-1]["reason"] == "failed" and other.requests == []


@proves("MOD-4/3")
@pytest.mark.parametrize(
    ("privacy", "goes_on"),
    [
        (("local", "company"), False),
        (("local", "anyone"), False),
        (("company", "anyone"), False),
        ((None, "company"), False),  # the first is on this machine
        (("company", None), True),
        (("company", "local"), True),
        (("company", "company"), True),
        (("anyone", "company"), True),
    ],
)
async def test_nothing_goes_to_a_server_that_more_people_see_into(
    tmp_path: Path, privacy: tuple[str | None, str | None], goes_on: bool
) -> None:
    async with two_servers(tmp_path, [HttpError(401, "")], ["Hello."], privacy=privacy) as (client, _, other):
        chat = await client.chat()
        await chat.send("Hello")
        assert (await chat.events())[-1]["reason"] == ("answered" if goes_on else "failed")
        assert bool(other.requests) is goes_on


@proves("MOD-4/3")
async def test_class_that_is_changed_while_the_server_runs_holds_for_the_next_request(tmp_path: Path) -> None:
    async with two_servers(tmp_path, [HttpError(401, "")] * 2, ["Hello."]) as (client, _, other):
        chat = await client.chat()
        await client.ask("PATCH", "/providers/second", {"privacy": "anyone"}, expect=200)
        await chat.send("Hello")
        assert other.requests == []
        for model_settings, why in (
            (
                {"m": {"fallbacks": ["second/m"]}},
                "first is for 'local', and what is sent to second is seen by 'anyone'",
            ),
            ({"m": {"fallbacks": ["first/m"]}}, "it is the same model"),
            ({"m": {"fallbacks": ["nobody/m"]}}, "there is no such model server"),
            ({"m": {"fallbacks": ["guide/guide"]}}, "guide is no model server"),
        ):
            with pytest.raises(RequestRefused, match=why):
                await client.ask("PATCH", "/providers/first", {"model_settings": model_settings})
        listed = {each["name"]: each for each in (await client.ask("GET", "/providers"))["providers"]}
        assert (listed["first"]["privacy"], listed["second"]["privacy"]) == ("local", "anyone")
        assert listed["first"]["model_settings"]["m"]["fallbacks"] == ["second/m"]


@proves("MOD-4/3")
@pytest.mark.parametrize("removed", [False, True])
async def test_class_that_changes_in_the_middle_of_a_turn_ends_its_requests_there(
    tmp_path: Path, removed: bool
) -> None:
    """Also where the server is taken off the list: a name that nobody has would be the default server's."""
    held = asyncio.Event()
    replies = [Reply(call("read_file", path="a.txt"), hold=held), "Told."]
    async with two_servers(tmp_path, [HttpError(401, "")] * 2, replies) as (client, one, other):
        chat = await client.chat()
        await chat.send("What does a.txt say?", until="")
        await other.asked(1)
        if removed:
            await client.ask("DELETE", "/providers/second")
        else:
            await client.ask("PATCH", "/providers/second", {"privacy": "anyone"}, expect=200)
        held.set()
        await chat.rest()
        assert (len(one.requests), len(other.requests)) == (1, 1)
        assert (await chat.events())[-1]["reason"] == "failed"
        assert "second/m may no longer go on for first/m" in str(await chat.messages())


@proves("MOD-4/1")
async def test_a_task_of_a_job_goes_on_with_the_next_model(tmp_path: Path) -> None:
    async with two_servers(tmp_path, [HttpError(401, "")] * 2, [report("looked"), "All done."]) as (client, _, other):
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look", "role": "planner"}))
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed" and len(other.requests) == 2, job
