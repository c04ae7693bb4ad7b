"""Any store: a change is written whole or not at all, read back as it was, and published in order."""

import asyncio
from dataclasses import replace

import pytest

from anycowork.domain.approvals import Approval, ApprovalState, PlanRow, PlanState, QuestionRow, QuestionState, Risk
from anycowork.domain.chats import ChatConfig, ChatState, EndReason, Turn, TurnState
from anycowork.domain.errors import (
    AlreadyAnswered,
    AlreadyDecided,
    Conflict,
    NotFound,
    PlanAlreadyApproved,
    PlanSuperseded,
    RejectedByUser,
    TurnAlreadyRunning,
)
from anycowork.domain.events import EventType, NewEvent, Record
from anycowork.domain.journal import (
    AddChat,
    ApprovePlan,
    Change,
    Compact,
    DecideApproval,
    RemoveChat,
    RequireLease,
    RequireNoDenial,
    RequireState,
    Reserve,
    SetChat,
    SettleQuestion,
    Spend,
)
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.metering import ModelUsage, UsageGroup
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, PathIntent, Provenance, ToolResult
from support.spec import proves
from support.store_factories import OpenStore
from support.stored import SOON, add_chat, body, message, new_chat, note, said


@proves("MSG-2", "MSG-3")
async def test_a_message_comes_back_whole_with_every_field(open_store: OpenStore) -> None:
    whole = Message(
        id="m1",
        chat_id="c1",
        role=Speaker.ASSISTANT,
        content="x" * 3_000_000 + "\N{PILE OF POO}\0end",
        message_type=MessageType.TOOL_RESULT,
        payload={"tool_call_id": "k", "n": 2**60, "deep": [{"a": None}]},
        agent_role="planner",
        turn_id="t1",
        job_id="j1",
        task_id="a",
        reasoning="because",
        created_at="2026-01-02T03:04:05.000006Z",
        extra={"from_elsewhere": {"kept": True}},
        origins=frozenset({"model", "web:example.org"}),
    )
    async with open_store() as database:
        await database.journal.write(add_chat("c1", whole))
    async with open_store() as database:
        assert await database.store.messages.all("c1") == [whole]
        assert await database.store.messages.find("c1", "m1") == whole


async def test_a_message_event_comes_before_the_events_of_its_change_and_carries_the_message(
    open_store: OpenStore,
) -> None:
    shown: list[Record] = []
    async with open_store(shown.append) as database:
        await database.journal.write(
            Change(
                "c1",
                (AddChat(new_chat(), "person:ann"), message("m1"), message("m2")),
                (NewEvent(EventType.TURN_STARTED, {"turn": {"id": "t1"}}, turn_id="t1"),),
                principal="person:ann",
                cause="request-7",
            )
        )
        assert [(r.seq, r.type.value) for r in shown] == [(1, "message"), (2, "message"), (3, "turn-started")]
        first = body(shown[0])
        assert first["message"] == {**message("m1").to_json(), "seq": 1, "created_at": first["message"]["created_at"]}  # type: ignore[index,call-overload]
        assert {body(r)["principal"] for r in shown} == {"person:ann"}
        assert {body(r)["cause"] for r in shown} == {"request-7"}
        assert await database.store.records.after("c1", 0, 10) == shown


async def test_a_draft_that_names_its_principal_keeps_it(open_store: OpenStore) -> None:
    shown: list[Record] = []
    async with open_store(shown.append) as database:
        draft = NewEvent(EventType.ERROR, {"error": {}}, principal="mcp_host:x", cause="own")
        await database.journal.write(Change("c1", add_chat().writes, (draft,), principal="person:ann", cause="other"))
    assert (body(shown[0])["principal"], body(shown[0])["cause"]) == ("mcp_host:x", "own")


async def test_a_change_to_a_chat_that_is_not_there_is_refused(open_store: OpenStore) -> None:
    async with open_store() as database:
        with pytest.raises(NotFound, match="no chat 'nobody'"):
            await database.journal.write(said("m1", chat_id="nobody"))
        assert await database.store.messages.all("nobody") == []


async def test_a_doubled_id_is_a_conflict(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat())
        with pytest.raises(Conflict):
            await database.journal.write(add_chat())


async def test_a_turn_is_put_and_found_by_its_state(open_store: OpenStore) -> None:
    turn = Turn("t1", "c1", "actor", "person:ann", "m1", created_at="now")
    ended = Turn(
        "t1",
        "c1",
        "actor",
        "person:ann",
        "m1",
        "p1",
        TurnState.ENDED,
        3,
        1,
        2.5,
        EndReason.FAILED,
        {"code": "x"},
        "now",
    )
    async with open_store() as database:
        store = database.store
        await database.journal.write(add_chat("c1", turn))
        assert await store.turns.find("t1") == turn == await store.turns.current("c1")
        assert await store.turns.in_states(TurnState.RUNNING, TurnState.DUE) == [turn]
        await database.journal.write(Change("c1", (ended,)))
        assert await store.turns.find("t1") == ended
        assert (
            await store.turns.current("c1") is None
            and await store.turns.in_states(TurnState.RUNNING, TurnState.DUE, TurnState.PARKED) == []
        )


async def test_a_running_turn_shows_its_counters_at_once_and_keeps_them_when_it_rests(open_store: OpenStore) -> None:
    begun = Turn("t1", "c1", "actor", "person:ann", "m1", created_at="now")
    going_on = replace(begun, steps=3, faults=1, seconds=2.5)
    parked = replace(going_on, state=TurnState.PARKED)
    async with open_store() as database:
        await database.journal.write(add_chat("c1", begun))
        await database.journal.write(Change("c1", (going_on,)))
        assert await database.store.turns.find("t1") == going_on == await database.store.turns.current("c1")
        assert await database.store.turns.in_states(TurnState.RUNNING) == [going_on]
        with pytest.raises(TurnAlreadyRunning):
            refusal = RequireState(frozenset(), TurnAlreadyRunning("no"))
            await database.journal.write(Change("c1", (replace(going_on, steps=4), refusal)))
        assert await database.store.turns.find("t1") == going_on
        await database.journal.write(Change("c1", (replace(going_on, role="planner"),)))
        assert (await database.store.turns.in_states(TurnState.RUNNING))[0].role == "planner"
        await database.journal.write(Change("c1", (parked,)))
    async with open_store() as database:
        assert await database.store.turns.find("t1") == parked


async def test_calls_come_back_in_the_order_of_issue_with_the_authority_they_were_issued_with(
    open_store: OpenStore,
) -> None:
    def call(call_id: str, ordinal: int, **more: object) -> Call:
        return Call(call_id, "c1", "t1", f"batch-{call_id}", ordinal, "update_file", {"path": "a"}, **more)  # type: ignore[arg-type]

    issued = call(
        "z", 0, role_at_issue="actor", ceiling=frozenset({Permission.READ_FILES}), provenance=Provenance(False, True)
    )
    settled = call(
        "z",
        0,
        terminate=False,
        role_at_issue="actor",
        ceiling=frozenset({Permission.READ_FILES}),
        provenance=Provenance(False, True),
        plan_step="1",
        state=CallState.SETTLED,
        intent=Intent((PathIntent("a", "old", None),), "ls"),
        result=ToolResult(CallStatus.OK, "done", None, "+a", {"exit": 0}),
    )
    async with open_store() as database:
        await database.journal.write(add_chat("c1", issued))
        await database.journal.write(Change("c1", (call("b", 0), call("a", 1))))
        await database.journal.write(Change("c1", (settled,)))
        assert await database.store.calls.of_turn("t1") == [settled, call("b", 0), call("a", 1)]


async def test_an_approval_is_decided_once(open_store: OpenStore) -> None:
    def approval(approval_id: str) -> Approval:
        return Approval(
            approval_id, "c1", "t1", "b", "k1", "create_file", {"p": 1}, "/a", Risk.HIGH, ("it creates",), "hash", True
        )

    allow = DecideApproval("y", ApprovalState.ALLOWED, "go on", "person:ann")
    async with open_store() as database:
        await database.journal.write(add_chat("c1", approval("y"), approval("x")))
        assert await database.store.approvals.of_chat("c1") == [approval("y"), approval("x")]
        await database.journal.write(Change("c1", (allow,)))
        with pytest.raises(AlreadyDecided, match="already allowed"):
            await database.journal.write(Change("c1", (allow,)))
        with pytest.raises(NotFound):
            await database.journal.write(
                Change("c1", (DecideApproval("none", ApprovalState.DENIED, None, "person:ann"),))
            )
        assert await database.store.approvals.of_chat("c1") == [approval("x")]
        decided = (await database.store.approvals.of_call("k1"))[0]
        assert (decided.state, decided.note, decided.decided_by) == (ApprovalState.ALLOWED, "go on", "person:ann")


async def test_a_question_is_settled_once(open_store: OpenStore) -> None:
    answer = SettleQuestion("q1", QuestionState.ANSWERED, {"value": "yes"}, "person:ann")
    async with open_store() as database:
        await database.journal.write(add_chat("c1", QuestionRow("q1", "c1", "t1")))
        await database.journal.write(Change("c1", (answer,)))
        with pytest.raises(AlreadyAnswered):
            await database.journal.write(Change("c1", (answer,)))
        assert await database.store.questions.find("q1") == QuestionRow(
            "q1", "c1", "t1", QuestionState.ANSWERED, {"value": "yes"}, "person:ann"
        )
        assert await database.store.questions.find("q2") is None


async def test_the_newest_plan_supersedes_older_ones_and_is_approved_once(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat("c1", PlanRow("p1", "c1", PlanState.OPEN)))
        await database.journal.write(Change("c1", (PlanRow("p2", "c1", PlanState.OPEN),)))
        with pytest.raises(PlanSuperseded):
            await database.journal.write(Change("c1", (ApprovePlan("p1", {}, "person:ann"),)))
        await database.journal.write(Change("c1", (ApprovePlan("p2", {"goal": "g"}, "person:ann", "t2"),)))
        with pytest.raises(PlanAlreadyApproved):
            await database.journal.write(Change("c1", (ApprovePlan("p2", {}, "person:ann"),)))
        assert await database.store.plans.find("p2") == PlanRow(
            "p2", "c1", PlanState.APPROVED, {"goal": "g"}, "person:ann", "t2"
        )


async def test_a_stale_lease_refuses_the_whole_change(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat())
        epoch = await database.leases.take("/w", owner="one", seconds=0)
        await database.journal.write(Change("c1", (RequireLease("/w", epoch), message("m1"))))
        assert await database.leases.take("/w", owner="two", seconds=60) == epoch + 1
        with pytest.raises(Conflict, match="passed to another writer"):
            await database.journal.write(Change("c1", (message("m2"), RequireLease("/w", epoch))))
        assert [m.id for m in await database.store.messages.all("c1")] == ["m1"]


@proves("APR-10")
async def test_denial_refuses_a_change_that_requires_none(open_store: OpenStore) -> None:
    shown = ("create_file", {"p": 1}, "/a", Risk.HIGH, ("it creates",), "hash")
    asked = [Approval(of, "c1", "t1", "b", of, *shown) for of in ("denied", "allowed", "open")]
    async with open_store() as database:
        await database.journal.write(add_chat("c1", *asked))
        for of in (ApprovalState.DENIED, ApprovalState.ALLOWED):
            await database.journal.write(Change("c1", (DecideApproval(of.value, of, None, "person:ann"),)))
        for of in ("allowed", "open", "never asked"):
            await database.journal.write(Change("c1", (RequireNoDenial(of), message(of))))
        with pytest.raises(RejectedByUser, match="The person denied this call"):
            await database.journal.write(Change("c1", (message("denied"), RequireNoDenial("denied"))))
        assert [m.id for m in await database.store.messages.all("c1")] == ["allowed", "open", "never asked"]


async def test_what_is_reserved_counts_until_it_is_spent(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(
            add_chat("c1", first := Reserve("u1", "t1", "answer", "m", 100), Reserve("u2", "t1", "answer", "m", 50))
        )
        await database.journal.write(Change("c1", (Spend(first, 10, 20, 3, 4, estimated=True),)))
        used = await database.store.usage.of_chat("c1")
        assert used.models == (ModelUsage("m", 2, 50, 10, 20, 3, 4, estimated=True),)


async def test_nothing_is_spent_that_was_not_set_aside(open_store: OpenStore) -> None:
    async with open_store() as database:
        reserve = Reserve("u1", "t1", "answer", "m", 100)
        await database.journal.write(add_chat("c1", reserve))
        await database.journal.write(Change("c1", (Spend(reserve, 10, 20),)))
        with pytest.raises(Conflict):
            await database.journal.write(Change("c1", (message("m1"), Spend(reserve, 10, 20))))
        assert await database.store.messages.all("c1") == []
        [used] = (await database.store.usage.of_chat("c1")).models
        assert used.prompt == 10


async def test_what_a_turn_used_is_told_by_model_in_the_order_they_were_asked(open_store: OpenStore) -> None:
    async with open_store() as database:
        asked = [Reserve(f"u{n}", "t1", "turn", model, 100) for n, model in enumerate(("b", "a", "b"))]
        await database.journal.write(add_chat("c1", *asked))
        for n, reserve in enumerate(asked, start=1):
            await database.journal.write(Change("c1", (Spend(reserve, n, 0), Reserve(f"v{n}", "t2", "turn", "a", 7))))
        used = await database.store.usage.of_turn("c1", "t1")
        assert [(one.model, one.requests, one.reserved, one.prompt) for one in used] == [("b", 2, 0, 4), ("a", 1, 0, 2)]
        whole = await database.store.usage.of_chat("c1")
        assert sum(one.reserved for one in whole.models) == 21 and whole.window == 3


async def test_use_is_summed_by_chat_job_role_model_and_day(open_store: OpenStore) -> None:
    async with open_store() as database:
        for chat_id, role, job_id, day in (("c1", "actor", None, "02"), ("c2", "tester", "j1", "03")):
            turn = Turn(
                f"t-{chat_id}",
                chat_id,
                role,
                "person:ann",
                "m0",
                job_id=job_id,
                created_at=f"2026-11-{day}T10:00:00.000000Z",
            )
            reserve = Reserve(f"u-{chat_id}", turn.id, "turn", "p/m", 100)
            await database.journal.write(add_chat(chat_id, turn, reserve))
            await database.journal.write(Change(chat_id, (Spend(reserve, 10, 1),)))

        async def keys(by: UsageGroup, since: str = "2026-11-01", until: str = "2026-11-30") -> dict[str, int]:
            found = await database.store.usage.grouped(by, since, until)
            return {one.key: one.used.prompt for one in found}

        assert await keys(UsageGroup.CHAT) == {"c1": 10, "c2": 10}
        assert await keys(UsageGroup.JOB) == {"j1": 10}
        assert await keys(UsageGroup.ROLE) == {"actor": 10, "tester": 10}
        assert await keys(UsageGroup.MODEL) == {"p/m": 20}
        assert await keys(UsageGroup.DAY) == {"2026-11-02": 10, "2026-11-03": 10}
        assert await keys(UsageGroup.CHAT, since="2026-11-03") == {"c2": 10}
        assert await keys(UsageGroup.CHAT, until="2026-11-02") == {"c1": 10}


async def test_a_removed_chat_leaves_no_row_and_its_text_does_not_come_back(open_store: OpenStore) -> None:
    shown: list[Record] = []
    async with open_store(shown.append) as database:
        await database.journal.write(add_chat("c1", message("m1"), Turn("t1", "c1", "actor", "p", "m1")))
        await database.journal.write(add_chat("c2", message("m1", chat_id="c2")))
        database.journal.publish_delta("c1", "t1", "m2", EventType.TEXT_DELTA, 0, "late words")
        await database.journal.write(Change("c1", (RemoveChat(),)))
        assert await database.store.chats.find("c1") is None and await database.store.messages.all("c1") == []
        assert await database.store.records.after("c1", 0, 10) == []
        assert await database.store.turns.in_states(TurnState.RUNNING) == []
        assert [m.id for m in await database.store.messages.all("c2")] == ["m1"]


@proves("PER-4")
async def test_the_role_is_what_it_was_last_changed_to_and_none_when_the_chat_is_gone(open_store: OpenStore) -> None:
    async with open_store() as database:
        assert await database.store.chats.config_of("c1") is None
        await database.journal.write(add_chat("c1"))
        first = await database.store.chats.config_of("c1")
        for role in ("planner", "tester", "planner"):
            await database.journal.write(Change("c1", (SetChat(config=ChatConfig(role)),)))
            now = await database.store.chats.config_of("c1")
            assert now is not None and now.agent_role == role and now != first
        await database.journal.write(Change("c1", (RemoveChat(),)))
        assert await database.store.chats.config_of("c1") is None


async def test_set_chat_changes_what_it_names_and_keeps_the_rest(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat())
        await database.journal.write(Change("c1", (SetChat(title="New", state=ChatState.RUNNING),)))
        await database.journal.write(Change("c1", (SetChat(config=ChatConfig("planner", model_id="m")),)))
        chat = await database.store.chats.find("c1")
        assert chat is not None
        assert (chat.title, chat.state, chat.role, chat.config.model_id) == ("New", ChatState.RUNNING, "planner", "m")
        assert chat.updated_at > chat.created_at


async def test_text_is_shown_at_once_and_kept_in_pieces(open_store: OpenStore) -> None:
    shown: list[Record] = []
    async with open_store(shown.append) as database:
        await database.journal.write(add_chat())
        for n in range(100):
            database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, n * 4, f"{n:4}")
        assert [body(r)["offset"] for r in shown] == [n * 4 for n in range(100)]
        replayed = await database.store.records.after("c1", 0, 1000)
        assert len(replayed) == 1 and body(replayed[0])["text"] == "".join(f"{n:4}" for n in range(100))
        assert replayed[0].seq == shown[-1].seq
    async with open_store() as database:
        assert [(r.seq, body(r)["text"]) for r in await database.store.records.after("c1", 0, 1000)] == [
            (replayed[0].seq, body(replayed[0])["text"])
        ]


async def test_a_refused_compaction_keeps_the_text(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat())
        database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, 0, "words")
        refused = RequireState(frozenset(), TurnAlreadyRunning("no"))
        with pytest.raises(TurnAlreadyRunning):
            await database.journal.write(Change("c1", (message("m1"), Compact("m1"), refused)))
    async with open_store() as database:
        assert [u.text for u in await database.store.records.unfinished_text("c1", "t1")] == ["words"]


async def test_the_history_joins_the_stream_before_any_unfinished_text(open_store: OpenStore) -> None:
    shown: list[Record] = []
    async with open_store(shown.append) as database:
        await database.journal.write(add_chat("c1", message("m1")))
        database.journal.publish_delta("c1", "t1", "m2", EventType.TEXT_DELTA, 0, "one ")
        await database.journal.write(Change("c1", (), (note("between"),)))
        database.journal.publish_delta("c1", "t1", "m2", EventType.TEXT_DELTA, 4, "two")
        page = await database.store.messages.page("c1", limit=100)
        assert page.last_seq == 1
        joined = await database.store.records.after("c1", page.last_seq, 100)
        assert EventType.ERROR in {record.type for record in joined}
        assert "".join(body(r)["text"] for r in joined if r.type is EventType.TEXT_DELTA) == "one two"


async def test_a_reader_that_raises_hangs_no_writer(open_store: OpenStore) -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context["exception"]))

    def publish(record: Record) -> None:
        raise ValueError("a reader of bad manners")

    async with asyncio.timeout(SOON), open_store(publish) as database:
        await database.journal.write(add_chat())
        await asyncio.gather(*(database.journal.write(said(f"m{n}")) for n in range(5)))
        assert len(await database.store.messages.all("c1")) == 5
    assert len(complaints) == 5


async def test_text_that_is_no_text_is_refused_at_once_and_hinders_nothing(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat())
        with pytest.raises(UnicodeEncodeError):
            database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, 0, "\ud800")
        with pytest.raises(UnicodeEncodeError):
            await database.journal.write(said("m2", "\ud800"))
        await database.journal.write(said("m3"))
        assert [m.id for m in await database.store.messages.all("c1")] == ["m3"]
