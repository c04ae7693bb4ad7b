"""A job goes on whatever happens while an earlier step of its chat is under way."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anycowork.domain.chats import Turn, TurnState
from support.jobs import approved, new_job, plan, report, until
from support.live_server import live_server

STEPS = plan({"id": "a", "action": "look"})
SECONDS = 10.0


class Late:
    """The first call of the method that `matches` does what it does, and returns only when `go_on` is set."""

    def __init__(
        self,
        holder: object,
        method: str,
        monkeypatch: pytest.MonkeyPatch,
        matches: Callable[..., bool] = lambda *given: True,
    ) -> None:
        self.is_done, self.go_on, self.calls = asyncio.Event(), asyncio.Event(), 0
        call = getattr(holder, method)

        async def late(*given: Any, **named: Any) -> Any:
            self.calls += 1
            result = await call(*given, **named)
            if not self.is_done.is_set() and matches(*given):
                self.is_done.set()
                await self.go_on.wait()
            return result

        monkeypatch.setattr(holder, method, late)


async def test_job_that_a_person_approves_while_its_chat_s_jobs_are_read_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live_server(tmp_path, replies=[report("a"), "Done."]) as client, asyncio.timeout(SECONDS):
        chat = await client.chat()
        job = await new_job(client, chat, plan=STEPS)
        reads = Late(client.server.database.store.jobs, "in_states", monkeypatch)
        client.server.coordinator.wake(chat.id)
        await reads.is_done.wait()  # it waited for approval then
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        reads.go_on.set()
        assert (await until(client, chat, job["id"], "completed", "failed"))["status"] == "completed"


async def test_all_that_happens_while_a_step_is_under_way_costs_one_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live_server(tmp_path) as client, asyncio.timeout(SECONDS):
        chat, coordinator, ended = await client.chat(), client.server.coordinator, asyncio.Event()
        coordinator.on_done.append(lambda chat_id: ended.set())
        reads = Late(client.server.database.store.jobs, "in_states", monkeypatch)
        coordinator.wake(chat.id)
        await reads.is_done.wait()
        for _ in range(20):
            coordinator.wake(chat.id)
        reads.go_on.set()
        await ended.wait()
        assert reads.calls == 2
        assert not coordinator.is_woken(chat.id)


async def test_job_goes_on_when_its_turn_is_stopped_just_as_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Turn] = []

    def ends_a_turn(change: Any) -> bool:
        ended.extend(write for write in change.writes if type(write) is Turn and write.state is TurnState.ENDED)
        return bool(ended)

    async with live_server(tmp_path, replies=[report("a"), "Done."]) as client, asyncio.timeout(SECONDS):
        writes = Late(client.server.database.journal, "write", monkeypatch, ends_a_turn)
        chat = await client.chat()
        job = await approved(client, chat, plan=STEPS)
        await writes.is_done.wait()
        await client.server.scheduler.stop(ended[0], principal="test", note="Stopped.")
        assert (await until(client, chat, job["id"], "completed", "failed"))["status"] == "completed"
