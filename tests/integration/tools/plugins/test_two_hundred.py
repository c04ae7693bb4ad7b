"""Two hundred tools of plugins in the real server: what a model is shown of them, in each of the three ways to call."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from anycowork.config.settings import ProviderEntry
from anycowork.prompts.enhance import OFFER_BUDGET, TOOL_BUDGET
from anycowork.prompts.small_model import TOOL_BUDGET as BRIEF_BUDGET
from anycowork.prompts.tokens import tokens
from anycowork.store.sql import message_history
from support.distributions import install
from support.live_server import LiveServer, live_server
from support.scripted_model import Script, ScriptedModel, call
from support.spec import proves

PLUGINS = ("birds", "coins", "maps", "tides")
EACH = 50
OPENING = "Please measure the wingspan of the 47th heron in my notes."
WANTED = "tides_47"
DEFAULT = "/v1/system-prompts/default/enhanced"


def source(name: str) -> str:
    """Fifty tools with descriptions of their own; one of the tides is the heron."""
    lines = ["tools = []"]
    for number in range(EACH):
        does = "Measure the wingspan of a heron." if f"{name}_{number}" == WANTED else f"Look up {name} no. {number}."
        lines += [
            "@tool(category='things of nature')",
            f"def {name}_{number:02}(exhibit: str, unit: str = 'cm') -> str:",
            f"    'Look into the catalogue of the museum. {does} It says where each was found, by whom and when.'",
            f"    return '{name} {number}: ' + exhibit + ' in ' + unit",
            f"tools.append({name}_{number:02})",
        ]
    return "\n".join(lines)


@asynccontextmanager
async def furnished(tmp_path: Path, *replies: Script, **way: Any) -> AsyncIterator[LiveServer]:
    """`way` is how the model is asked to call: the provider's own options."""
    for name in PLUGINS:
        install(tmp_path / "data" / "plugins", name, source(name))
    async with ScriptedModel(replies) as model:
        entry = ProviderEntry(name="own", base_url=model.base_url, models=("m",), **way)
        async with live_server(tmp_path, plugins=PLUGINS, providers=(entry,), model="own/m") as client:
            client.model = model
            yield client


def told(client: LiveServer) -> list[str]:
    return [request["messages"][0]["content"] for request in client.model.requests]


def tool_list(prompt: str) -> str:
    return prompt.split("# Tools\n", 1)[1].split("# Calling a tool")[0]


@proves("SYS-1", "SYS-2")
async def test_the_list_keeps_to_its_budget_and_names_what_it_leaves_out(tmp_path: Path) -> None:
    async with furnished(tmp_path) as client:
        shown = await client.ask("GET", f"{DEFAULT}?role=actor")
    listed = tool_list(shown["content"])
    assert tokens(listed) <= TOOL_BUDGET + 20
    assert all(f"- {own}(" in listed for own in ("read_file", "update_file", "execute_command"))
    described = {name for name in _all_names() if f"- {name}(" in listed}
    assert described and described.isdisjoint(shown["left_out"])
    assert described | set(shown["left_out"]) - {"ask_agent", "fetch_page"} == _all_names()
    last = listed.strip().splitlines()[-1]
    assert last.startswith("More tools") and all(name in last for name in shown["left_out"])
    assert "all the tools there are" not in shown["content"]


@proves("SYS-1", "SYS-2")
async def test_what_the_opening_request_speaks_of_is_described_and_the_prompt_stays_the_same_in_every_turn(
    tmp_path: Path,
) -> None:
    async with furnished(tmp_path, "Hello.", call(WANTED, exhibit="heron"), "Measured.", "Coins.") as client:
        chat = await client.chat()
        await chat.send("Hello!")
        await chat.send(OPENING)
        await chat.send("Now tell me of coins no. 3 and coins no. 4, please.")
        greeting, *later = told(client)
        assert f"- {WANTED}(" not in greeting and f"- {WANTED}(" in later[0]
        assert len(set(later)) == 1 and len(later) == 3
        assert (await client.ask("GET", f"{DEFAULT}?context_id={chat.id}"))["content"] == later[0]
        assert (await chat.of_type("tool_result"))[0]["content"] == "tides 47: heron in cm"


@proves("SYS-1", "SYS-2")
async def test_the_opening_request_of_a_long_chat_is_found_behind_greetings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_history, "MOST_RECENT", 2)
    replies = ("Hello.", "Hello again.", call(WANTED, exhibit="heron"), "Measured.", "Coins.")
    async with furnished(tmp_path, *replies) as client:
        chat = await client.chat()
        for words in ("Hello!", "Anybody?", OPENING, "Now tell me of coins no. 3 and coins no. 4, please."):
            await chat.send(words)
        later = told(client)[2:]
        assert len(later) == 3 and f"- {WANTED}(" in later[0] and len(set(later)) == 1


@proves("SYS-2")
async def test_one_that_is_only_named_can_be_called_and_says_what_it_takes(tmp_path: Path) -> None:
    async with furnished(tmp_path, call("maps_49"), call("maps_49", exhibit="spring tide"), "Done.") as client:
        chat = await client.chat()
        await chat.send("Look that up for me, please.")
        assert "- maps_49(" not in told(client)[0]
        wrong, right = await chat.of_type("tool_result")
        assert "'exhibit' is missing" in wrong["content"]
        assert right["content"] == "maps 49: spring tide in cm"


@proves("SYS-2", "CTX-1")
@pytest.mark.parametrize("calling", ["text", "native"])
async def test_in_a_small_context_the_tools_leave_room_for_the_conversation(tmp_path: Path, calling: str) -> None:
    replies = (call("read_file", path="long.txt"), "It is long.", "Yes.")
    async with furnished(tmp_path, *replies, calling=calling, context_tokens=4_096) as client:
        (client.workspace / "long.txt").write_text("word\n" * 5_000)
        chat = await client.chat()
        await chat.send("What does long.txt hold? Read it, please.")
        assert (await chat.send("Is that all there is in it?"))["state"] == "idle"
        for request in client.model.requests:
            words = [message.get("content") or "" for message in request["messages"]]
            weight = sum(map(tokens, words)) + tokens(json.dumps(request.get("tools", "")))
            assert weight <= 4_096 * 0.8
        assert "read the rest with read_file" in str(client.model.requests[1]["messages"][-1])
        shown = (await client.ask("GET", f"{DEFAULT}?context_id={chat.id}"))["content"]
        assert calling == "native" or told(client) == [shown] * 3


@proves("SYS-2", "LOOP-7")
async def test_a_model_that_calls_natively_is_offered_what_its_budget_holds_and_can_call_the_rest(
    tmp_path: Path,
) -> None:
    replies = (call("maps_49", exhibit="ebb"), "Done.", "Again.")
    async with furnished(tmp_path, *replies, calling="native") as client:
        chat = await client.chat()
        await chat.send(OPENING)
        await chat.send("And the ebb, what of it now?")
        offered = [request["tools"] for request in client.model.requests]
        assert offered[0] == offered[1] == offered[2]
        names = {tool["function"]["name"] for tool in offered[0]}
        assert {"read_file", "execute_command", WANTED} <= names and "maps_49" not in names
        assert tokens(json.dumps(offered[0])) <= OFFER_BUDGET
        assert len(set(told(client))) == 1 and "# More tools" in told(client)[0] and "coins_00" in told(client)[0]
        assert (await chat.of_type("tool_result"))[0]["content"] == "maps 49: ebb in cm"


@proves("SYS-2")
@pytest.mark.parametrize("brief", [True, False])
async def test_a_grammar_has_one_branch_for_all_that_is_only_named(tmp_path: Path, brief: bool) -> None:
    replies = (call("maps_49", exhibit="ebb"), '{"answer": "Done."}')
    async with furnished(tmp_path, *replies, calling="schema", brief=brief) as client:
        chat = await client.chat()
        await chat.send(OPENING)
        schema = client.model.requests[0]["response_format"]["json_schema"]["schema"]
        branches = [branch["properties"] for branch in schema["anyOf"] if "tool" in branch["properties"]]
        described = {branch["tool"]["const"] for branch in branches if "const" in branch["tool"]}
        [others] = [branch["tool"]["enum"] for branch in branches if "enum" in branch["tool"]]
        assert WANTED in described and "maps_49" in others and described.isdisjoint(others)
        assert described | set(others) >= _all_names()
        if brief:
            listed = told(client)[0].split("Tools:")[1].split("\n\n")[0]
            assert tokens(listed) <= BRIEF_BUDGET + 150 and f"- {WANTED}(" in listed
        assert (await chat.of_type("tool_result"))[0]["content"] == "maps 49: ebb in cm"


def _all_names() -> set[str]:
    return {f"{name}_{number:02}" for name in PLUGINS for number in range(EACH)}
