"""A small model whose work fails its check starts anew, without its failed try and with the files as they were; a large one goes on."""

import json
from pathlib import Path
from typing import Any  # requests are JSON that tests look into freely

import pytest

from anycowork.agent import fresh_drafts
from integration.agent.test_small_models import may_answer, small
from support.evidence import evidence_of, working_chat
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import ScriptedModel, call

CHECK = "python3 check.py"
FILES = {
    "check.py": "import shop, sys\nsys.exit(0 if shop.total() == 3 else 1)\n",
    "shop.py": "def total():\n    raise NotImplementedError\n",
}
REQUEST = f"Implement total in shop.py so that `{CHECK}` passes."
READ, DONE = call("read_file", path="shop.py"), json.dumps({"answer": "It is done."})


def write(number: int) -> str:
    return call("update_file", path="shop.py", content=f"def total():\n    return {number}\n")


def texts(request: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in request["messages"])


async def drafts(chat: LiveChat) -> list[int]:
    return [m["payload"]["draft"]["number"] for m in await chat.messages() if "draft" in (m["payload"] or {})]


async def shop(client: LiveServer) -> str:
    return (client.workspace / "shop.py").read_text()


async def test_the_third_draft_passes_and_none_was_shown_the_one_before(tmp_path: Path) -> None:
    replies = [write(40), DONE, write(50), DONE, write(3), DONE]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=FILES, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        evidence = await evidence_of(client, chat)
        assert evidence["status"] == "checked" and await shop(client) == "def total():\n    return 3\n"
        assert await drafts(chat) == [2, 3]
        first, second, third = model.requests[0], model.requests[2], model.requests[4]
        assert "return 40" in texts(model.requests[1]), "within a draft it sees what it did"
        begins = len(first["messages"])
        assert second["messages"] == third["messages"] and second["messages"][:begins] == first["messages"]
        since = [message["content"] for message in second["messages"][begins:]]
        assert len(since) == 2 and CHECK in since[0], "only the run of the check before the work is new"
        assert [request["temperature"] > 0 for request in (first, second, third)] == [False, True, True]
        said = [m["content"] for m in await chat.messages()]
        assert f"Try 1 of 3 did not pass `{CHECK}`. Its changes were undone, and the model starts anew." in said
        assert sum("return 40" in text for text in said) > 0, "the person sees each draft"
        undone = [m["payload"]["tool"] for m in await chat.of_type("tool_call") if m["payload"].get("restores")]
        assert undone == ["update_file", "update_file"], "the page says that the server did it"


async def test_another_draft_owes_the_change_that_the_one_before_it_made(tmp_path: Path) -> None:
    replies = [write(40), DONE, call("list_directory", path="."), write(3), DONE]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=FILES, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert (await evidence_of(client, chat))["status"] == "checked" and await drafts(chat) == [2]
    assert [may_answer(request) for request in model.requests] == [False, True, False, False, True]


async def test_after_three_drafts_the_turn_ends_failed_with_the_last_one(tmp_path: Path) -> None:
    replies = [READ, write(40), DONE, write(50), DONE, write(60), DONE]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=FILES, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert (await evidence_of(client, chat))["status"] == "failed"
        assert await drafts(chat) == [2, 3] and await shop(client) == "def total():\n    return 60\n"


async def test_files_that_a_draft_made_go_with_it_and_what_commands_changed_comes_back(tmp_path: Path) -> None:
    change = "printf 'def total():\\n    return 40\\n' > shop.py; echo x > notes.txt"
    replies = [READ, call("execute_command", command=change), DONE, write(3), DONE]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=FILES, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert (await evidence_of(client, chat))["status"] == "checked" and await drafts(chat) == [2]
        assert sorted(path.name for path in client.workspace.iterdir()) == ["check.py", "shop.py"]
        turn = await client.server.services.store.turns.newest(chat.id)
        assert turn is not None
        ordinals = [call.ordinal for call in await client.server.services.store.calls.of_turn(turn.id)]
        assert ordinals == sorted(set(ordinals)), "each call has its own place, also those that undo"


async def test_a_file_that_somebody_changed_meanwhile_stays_and_the_model_is_told(tmp_path: Path) -> None:
    theirs = "def total():\n    return 41  # a person was here\n"

    def done(_: dict[str, Any]) -> str:
        (client.workspace / "shop.py").write_text(theirs)
        return DONE

    async with (
        ScriptedModel([write(40), done, DONE, DONE]) as model,
        live_server(tmp_path, files=FILES, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert await drafts(chat) == [] and await shop(client) == theirs


async def test_a_turn_that_was_stopped_between_drafts_goes_on_without_the_failed_one(tmp_path: Path) -> None:
    replies = [READ, write(40), DONE, call("delete_file", path="check.py"), write(3), DONE]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=FILES, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        await chat.decide("deny")  # the next segment is read from the journal
        await chat.rest()
        assert "return 40" not in texts(model.requests[-1]) and "return 40" not in texts(model.requests[4])
        assert (await evidence_of(client, chat))["status"] == "checked"


async def test_what_would_show_a_secret_is_not_taken_back_and_the_model_is_told(tmp_path: Path) -> None:
    files = {**FILES, "shop.py": f"KEY = 'ghp_{'a1B2' * 9}'\n{FILES['shop.py']}"}
    sed = call("execute_command", command="sed -i 's/raise NotImplementedError/return 40/' shop.py")
    replies = [READ, sed, DONE, DONE, DONE]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=files, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert await drafts(chat) == [] and "return 40" in await shop(client)
        assert "Not done yet." in texts(model.requests[3])


async def test_what_a_person_allowed_is_not_taken_back(tmp_path: Path) -> None:
    remove = call("execute_command", command="rm notes.txt; sed -i 's/raise NotImplementedError/return 40/' shop.py")
    async with (
        ScriptedModel([READ, remove, DONE, write(3), DONE]) as model,
        live_server(tmp_path, files={**FILES, "notes.txt": "mine\n"}, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        await chat.decide()
        await chat.rest()
        assert await drafts(chat) == [] and not (client.workspace / "notes.txt").exists()


async def test_a_large_model_is_told_what_failed_and_goes_on_from_there(tmp_path: Path) -> None:
    replies = [READ, write(40), "Done.", write(3), "Done."]
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert await drafts(chat) == [] and (await evidence_of(client, chat))["status"] == "checked"
        assert "return 40" in texts(client.model.requests[-1])


async def test_without_drafts_the_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_drafts, "MOST_DRAFTS", 1)
    replies = [READ, write(40), DONE, write(3), DONE]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=FILES, **small(model.base_url)) as client,
    ):
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert await drafts(chat) == [] and "return 40" in texts(model.requests[-1])
