"""A turn begins with the end of a long chat, and with all of its own words."""

from dataclasses import replace
from pathlib import Path

import pytest

from anycowork.domain.journal import Change
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.store.sql import message_history
from support.stored import add_chat, message, opened

COUNT = 40


async def test_a_short_chat_is_all_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        await database.journal.write(Change("c1", tuple(message(f"m{number}") for number in range(COUNT))))
        recent = await database.store.messages.recent("c1", since=f"m{COUNT - 1}")
        assert recent.complete and recent.messages == await database.store.messages.all("c1")
        assert [m.id for m in await database.store.messages.first("c1", 3)] == ["m0", "m1", "m2"]


async def test_of_a_long_chat_the_end_is_read_and_no_result_without_its_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_history, "MOST_RECENT", 10)
    monkeypatch.setattr(message_history, "_AT_A_TIME", 3)
    result = _result("late", call_id="first")
    made = replace(message("made"), message_type=MessageType.TOOL_CALL, payload={"id": "second"})
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        known = tuple(message(f"m{number}") for number in range(COUNT))
        await database.journal.write(Change("c1", (*known, result, made, _result("good", call_id="second"))))
        recent = await database.store.messages.recent("c1", since="good")
        ids = [f"m{number}" for number in range(COUNT - 7, COUNT)]
        assert not recent.complete and [m.id for m in recent.messages] == [*ids, "made", "good"]


async def test_the_turns_own_words_are_read_however_far_back_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_history, "MOST_RECENT", 10)
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        await database.journal.write(Change("c1", tuple(message(f"m{number}") for number in range(COUNT))))
        recent = await database.store.messages.recent("c1", since="m5")
        assert not recent.complete and [m.id for m in recent.messages] == [f"m{number}" for number in range(5, COUNT)]
        assert (await database.store.messages.recent("c1", since="m0")).complete


async def test_a_chat_of_large_messages_is_cut_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_history, "MOST_RECENT_BYTES", 5_000)
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        await database.journal.write(Change("c1", tuple(message(f"m{at}", "x" * 2_000) for at in range(COUNT))))
        recent = await database.store.messages.recent("c1", since=f"m{COUNT - 1}")
        assert not recent.complete and [m.id for m in recent.messages] == [f"m{COUNT - 2}", f"m{COUNT - 1}"]


async def test_a_chat_is_read_back_to_the_message_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_history, "_BACK_AT_A_TIME", 7)
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        await database.journal.write(Change("c1", tuple(message(f"m{number}") for number in range(COUNT))))

        async def read_to(name: str, since: str = "m39") -> tuple[list[str], bool]:
            recent = await database.store.messages.recent("c1", since=since, until=lambda one: one.id == name)
            return [one.id for one in recent.messages], recent.complete

        ids = [f"m{number}" for number in range(COUNT)]
        assert await read_to("m30") == (ids[30:], False)
        assert await read_to("m0") == (ids, True) == await read_to("none")
        monkeypatch.setattr(message_history, "MOST_RECENT", 14)
        assert await read_to("none") == (ids[-14:], False)
        assert await read_to("none", since="m5") == (ids[5:], False)


def _result(name: str, *, call_id: str) -> Message:
    payload = {"tool_call_id": call_id, "tool": "read_file", "status": "ok"}
    return replace(message(name), role=Speaker.TOOL, message_type=MessageType.TOOL_RESULT, payload=payload)


async def test_what_tasks_wrote_is_left_out_and_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_history, "MOST_RECENT", 10)
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        own = tuple(message(f"m{number}") for number in range(COUNT))
        tasks = tuple(replace(message(f"t{number}"), task_id="a", job_id="j") for number in range(3 * COUNT))
        await database.journal.write(Change("c1", (*own, *tasks, message("newest"))))
        recent = await database.store.messages.recent("c1", since="newest")
        assert [m.id for m in recent.messages] == [*(f"m{number}" for number in range(COUNT - 9, COUNT)), "newest"]
        assert not recent.complete
