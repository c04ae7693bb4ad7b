"""Targets, notifications and waits, in every store: each is sent once, whoever looks."""

import asyncio

import pytest

from anycowork.domain.approvals import PlanRow, PlanState, QuestionRow, QuestionState
from anycowork.domain.chats import ChatState, EndReason, Turn, TurnState
from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.journal import Change, SetChat, SettleQuestion
from anycowork.domain.notifications import (
    MOST_AN_HOUR,
    DeliveryOutcome,
    NotificationStatus,
    NotificationTarget,
    TargetKind,
    Wait,
    WaitKind,
)
from anycowork.domain.people import AccessLevel, Person
from anycowork.server.clock import SystemClock
from support.spec import proves
from support.store_factories import OpenStore
from support.stored import add_chat

NOW = "2026-11-19T08:00:00.000000Z"
SOON = "2026-11-19T08:00:20.000000Z"
HOOK = NotificationTarget("t1", "person:p1:Ada", TargetKind.WEBHOOK, "Hook", "https://example.org/", created_at=NOW)
WAIT = Wait("question:q1", WaitKind.QUESTION, "c1", "person:p1:Ada")


@proves("OPS-7/1")
async def test_of_two_that_see_a_due_wait_one_sends_it(open_store: OpenStore) -> None:
    async with open_store() as database:
        table = database.notifications
        await table.add_target(HOOK, person="p1", secret="s" * 20)
        await asyncio.gather(*(table.add("t1", [WAIT], now=NOW, delay=10) for _ in range(2)))
        due = await table.notifications("t1")
        claims = await asyncio.gather(*(table.claim("t1", due, person="p1", now=SOON) for _ in range(2)))
        [claimed] = [notification for claim in claims for notification in claim]
        assert (claimed.wait_id, claimed.attempts) == ("question:q1", 1)
        await table.settle("t1", [claimed], DeliveryOutcome(status=204), now=SOON)
        [sent] = await table.notifications("t1")
        assert sent.status is NotificationStatus.SENT and await table.claim("t1", [sent], person="p1", now=SOON) == []
        assert [target.last_sent_at for target in await table.targets()] == [SOON]


async def test_a_message_whose_sender_died_is_due_again(open_store: OpenStore) -> None:
    async with open_store() as database:
        table = database.notifications
        await table.add_target(HOOK, person="p1", secret="s" * 20)
        await table.add("t1", [WAIT], now=NOW, delay=0)
        await table.claim("t1", await table.notifications("t1"), person="p1", now=NOW)
        [left] = await table.notifications("t1")
        assert (left.status, left.due_at) == (NotificationStatus.DUE, "2026-11-19T08:01:00.000000Z")


async def test_an_hour_of_a_person_is_counted_over_their_targets(open_store: OpenStore) -> None:
    async with open_store() as database:
        table = database.notifications
        await table.add_target(HOOK, person="p1", secret="s" * 20)
        other = NotificationTarget("t2", HOOK.principal, TargetKind.WEBHOOK, "x", "https://b.example/", created_at=NOW)
        await table.add_target(other, person="p1", secret="s" * 20)
        counted = [await table.count_test(("t1", "t2")[number % 2], person="p1", now=NOW) for number in range(61)]
        assert counted == [True] * MOST_AN_HOUR + [False]
        assert await table.count_test("t1", person="p1", now="2026-11-19T09:00:01.000000Z")


async def test_targets_are_a_persons_own_and_end_with_them(open_store: OpenStore) -> None:
    async with open_store() as database:
        table = database.notifications
        await database.people.add(Person("p1", "Ada", AccessLevel.MEMBER, NOW, token_digest="d"), by="person:owner")
        await table.add_target(HOOK, person="p1", secret="s" * 20)
        await table.add("t1", [WAIT], now=NOW, delay=0)
        with pytest.raises(Conflict):
            await table.add_target(HOOK, person="p1", secret="s" * 20)
        with pytest.raises(NotFound):
            await table.remove_target("t1", person="owner")
        assert (await table.targets_of("owner"), await table.secret("t1")) == ([], "s" * 20)
        await database.people.remove("p1", by="person:owner")
        assert (await table.targets(), await table.notifications("t1"), await table.secret("t1")) == ([], [], None)


@proves("OPS-7/1", "OPS-7/5")
async def test_what_stands_is_read_from_what_waits_and_ends_with_its_decision(open_store: OpenStore) -> None:
    clock = SystemClock()
    async with open_store() as database:
        for chat_id in ("asking", "planning", "limited", "archived"):
            await database.journal.write(add_chat(chat_id))
        turns = {
            chat_id: Turn(clock.new_id(), chat_id, "actor", f"person:{chat_id}:X", "m", state=state, reason=reason)
            for chat_id, state, reason in (
                ("asking", TurnState.PARKED, None),
                ("limited", TurnState.ENDED, EndReason.LIMIT),
                ("archived", TurnState.ENDED, EndReason.LIMIT),
            )
        }
        question, plan = clock.new_id(), clock.new_id()
        await database.journal.write(
            Change("asking", (turns["asking"], QuestionRow(question, "asking", turns["asking"].id)))
        )
        await database.journal.write(Change("planning", (PlanRow(plan, "planning", PlanState.OPEN),)))
        await database.journal.write(Change("limited", (turns["limited"],)))
        await database.journal.write(Change("archived", (turns["archived"], SetChat(archived=True))))
        standing = {wait.kind: wait for wait in await database.waits.standing(clock.now())}
        assert {kind: wait.chat_id for kind, wait in standing.items()} == {
            WaitKind.QUESTION: "asking",
            WaitKind.PLAN: "planning",
            WaitKind.LIMIT: "limited",
        }
        assert standing[WaitKind.QUESTION].principal == "person:asking:X"
        answered = SettleQuestion(question, QuestionState.ANSWERED, {"value": "a"}, "person:owner")
        await database.journal.write(Change("asking", (answered,)))
        await database.journal.write(Change("limited", (SetChat(state=ChatState.RUNNING),)))
        assert [wait.kind for wait in await database.waits.standing(clock.now())] == [WaitKind.PLAN]
