"""Attempts to get more than a limit allows: side by side, by deleting, by leaving, by turning back the clock."""

import asyncio
from pathlib import Path

from support.live_server import live_server
from support.people import person
from support.scripted_model import Reply
from support.set_clock import ScheduleClock
from support.spec import proves

HOLD = {"prompt_tokens": 2000, "completion_tokens": 1000}


@proves("OPS-6/9")
async def test_turns_side_by_side_ask_no_more_than_fits(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply("One.", usage=HOLD, hold=hold) for _ in range(8)]
    async with live_server(tmp_path, replies=replies) as owner:
        first = await owner.chat()
        await first.send("hi", until="sent")
        await owner.model.asked(1)
        reserved = (await owner.ask("GET", "/limits"))["today"][0]["used"]["tokens"]
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": int(3.5 * reserved)}})
        chats = [await owner.chat() for _ in range(7)]
        await asyncio.gather(*(chat.send("hi", until="sent") for chat in chats), return_exceptions=True)
        await owner.model.asked(3)
        hold.set()
        states = await asyncio.gather(*(chat.rest() for chat in chats), return_exceptions=True)
        assert len(states) == 7 and len(owner.model.requests) == 3


@proves("OPS-6/3")
async def test_deleted_chat_gives_no_room_back(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[Reply("One.", usage=HOLD)]) as owner:
        chat = await owner.chat()
        await chat.send("hi")
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 3000}})
        await owner.ask("DELETE", chat.path)
        other = await owner.chat()
        await owner.ask("POST", f"{other.path}/messages", {"content": "hi"}, expect=429)


@proves("OPS-6/4")
async def test_renamed_or_removed_member_leaves_what_they_used_with_the_group(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, replies=[Reply("One.", usage=HOLD)]) as owner,
        person(owner, "Ada") as ada,
        person(owner, "Bob") as bob,
    ):
        for member in (ada, bob):
            await owner.ask("PATCH", f"/people/{member.id}", {"groups": ["design"]})
        body = {"group": {"design": {"tokens_per_day": 50_000}}, "person": {"Ada": {"tokens_per_day": 50_000}}}
        await owner.ask("PUT", "/limits", body)
        await (await ada.chat()).send("hi")
        await owner.ask("PATCH", f"/people/{ada.id}", {"name": "Someone Else"})
        await owner.ask("PUT", "/limits", {"person": {"Someone Else": {"tokens_per_day": 3000}}})
        chat = await ada.chat()
        await ada.ask("POST", f"{chat.path}/messages", {"content": "hi"}, expect=429)
        await owner.ask("DELETE", f"/people/{ada.id}")
        await owner.ask("PUT", "/limits", {"group": {"design": {"tokens_per_day": 3000}}})
        chat = await bob.chat()
        await bob.ask("POST", f"{chat.path}/messages", {"content": "hi"}, expect=429)


@proves("OPS-6/5")
async def test_clock_that_goes_back_gives_nothing_a_second_time(tmp_path: Path) -> None:
    clock = ScheduleClock()
    async with live_server(tmp_path, replies=[Reply("One.", usage=HOLD)], clock=clock) as owner:
        chat = await owner.chat()
        await chat.send("hi")
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 3000}})
        clock.time = "2026-11-18T23:00:00.000000Z"
        await owner.ask("POST", f"{chat.path}/messages", {"content": "hi"}, expect=429)


@proves("OPS-6/8", "OPS-6/9")
async def test_keys_and_chats_side_by_side_spend_no_more_than_the_limit_of_who_made_them(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply("One.", usage={"prompt_tokens": 20, "completion_tokens": 100}, hold=hold) for _ in range(12)]
    body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada", "admin") as ada:
        made = [await ada.ask("POST", "/keys", {"name": f"k{number}"}, expect=201) for number in range(6)]
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"tokens_per_day": 500}}})

        async def ask(key: str) -> int:
            headers = {"Authorization": f"Bearer {key}"}
            async with owner.session.post(owner.url + "/v1/chat/completions", json=body, headers=headers) as answer:
                await answer.read()
                return answer.status

        asking = [asyncio.create_task(ask(made[number % 6]["key"])) for number in range(12)]
        while sum(task.done() for task in asking) + len(owner.model.requests) < 12:
            await asyncio.sleep(0)
        hold.set()
        statuses = await asyncio.gather(*asking)
        passed = statuses.count(200)
        assert passed == len(owner.model.requests) and 1 <= passed <= 4 and set(statuses) == {200, 429}
        assert (await ada.ask("GET", "/limits"))["today"][0]["used"]["tokens"] <= 500
