"""One turn through the front door: real server, real store, real files, and a model whose words are fixed."""

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from anycowork.domain.journal import Change
from anycowork.domain.values import replace
from anycowork.server.clock import SystemClock
from anycowork.tools.read_tools import ReadFile
from support.live_server import live_server
from support.sandboxes import running, until
from support.scripted_model import TIMEOUT, BreakOff, HttpError, Reply, call
from support.spec import proves


@proves("LOOP-3/1")
async def test_a_tool_is_called_and_its_result_goes_back_to_the_model(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.txt"), "It says hello."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "hello\n"}) as client:
        chat = await client.chat()
        assert (await chat.send("what is in a.txt?"))["state"] == "idle"
        kinds = [(m["role"], m["message_type"]) for m in await chat.messages()]
        assert kinds == [("user", "text"), ("assistant", "tool_call"), ("tool", "tool_result"), ("assistant", "text")]
        shown = client.model.requests[1]["messages"][-1]
        assert (
            shown["role"] == "user"
            and shown["content"].startswith("Result of read_file (ok):")
            and "hello" in shown["content"]
        )


@proves("LOOP-3/2")
async def test_terminate_ends_the_turn_with_the_tools_result(tmp_path: Path) -> None:
    both = call("read_file", terminate=True, path="a.txt") + "\n" + call("list_directory", path=".")
    async with live_server(tmp_path, replies=[both], files={"a.txt": "x"}) as client:
        chat = await client.chat()
        await chat.send("read it")
        assert [result["status"] for result in await chat.results()] == ["ok", "ok"], "one call of several is enough"
        assert (await chat.last())["message_type"] == "tool_result"
        assert (await chat.events())[-1]["reason"] == "terminated"
        assert len(client.model.requests) == 1


@proves("LOOP-10/2")
async def test_a_terminating_call_that_failed_does_not_end_the_turn(tmp_path: Path) -> None:
    async with live_server(
        tmp_path, replies=[call("read_file", terminate=True, path="no.txt"), "There is no such file."]
    ) as client:
        chat = await client.chat()
        await chat.send("read it")
        assert (await chat.last())["content"] == "There is no such file."


async def test_an_answer_that_reached_the_limit_of_tokens_says_so(tmp_path: Path) -> None:
    cut = Reply("The first of three reasons is that the", finish="length")
    async with live_server(tmp_path, replies=[cut, "Whole."]) as client:
        chat = await client.chat()
        await chat.send("why is it so?")
        answer, note = (await chat.messages())[-2:]
        assert (answer["content"], note["role"]) == (cut.text, "system")
        assert note["content"].startswith("The answer ends here because the model reached its limit of tokens")
        await chat.send("go on")
        assert (await chat.last())["content"] == "Whole.", "and a whole answer has no such note"


@proves("LOOP-2/1", "LOOP-2/2", "LOOP-2/3", "EVT-1/10")
async def test_third_malformed_reply_ends_the_turn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broken = '{"tool": "read_file", "parameters": {"path": "a"}'
    async with live_server(tmp_path, replies=[broken] * 4) as client:
        chat = await client.chat()
        await chat.send("go")
        assert len(client.model.requests) == 3
        assert "not valid JSON" in client.model.requests[1]["messages"][-1]["content"]
        events = await chat.events()
        assert events[-1]["reason"] == "failed" and [e["error"]["code"] for e in events if e["type"] == "error"] == [
            "too_many_faults"
        ]
        assert broken in caplog.text, "the raw output is in the log"
        client.model.replies[:] = ["Fine again."]
        await chat.send("and now?")
        assert (await chat.last())["content"] == "Fine again."


@proves("LOOP-1", "LOOP-2/1", "LOOP-2/2")
@pytest.mark.parametrize(
    ("reply", "code", "said"),
    [
        (call("fly_away", to="moon"), "unknown_tool", "There is no tool 'fly_away'"),
        (call("read_file"), "bad_parameters", "path"),
        (call("read_file", path=7), "bad_parameters", "path"),
    ],
)
async def test_a_wrong_call_gets_a_precise_error_and_three_end_the_turn(
    tmp_path: Path, reply: str, code: str, said: str
) -> None:
    async with live_server(
        tmp_path, replies=[reply, reply.replace("moon", "mars"), reply.replace("moon", "sun"), "never"]
    ) as client:
        chat = await client.chat()
        await chat.send("go")
        first = (await chat.results())[0]
        assert (first["status"], first["error"]["code"]) == ("error", code) and said in first["error"]["message"]
        assert len(client.model.requests) <= 3 and (await chat.events())[-1]["reason"] == "failed"


@proves("LOOP-2/2")
async def test_faults_count_only_in_a_row(tmp_path: Path) -> None:
    broken, good = '{"tool": 1', call("list_directory", path=".")
    async with live_server(tmp_path, replies=[broken, broken, good, broken, broken, "Done."]) as client:
        chat = await client.chat()
        await chat.send("go")
        assert (await chat.last())["content"] == "Done."


@proves("LOOP-3/1")
@pytest.mark.parametrize("empty", ["", " \n\t "])
async def test_an_empty_reply_is_no_answer(tmp_path: Path, empty: str) -> None:
    async with live_server(tmp_path, replies=[empty, "Done.", *[empty] * 3]) as client:
        chat = await client.chat()
        await chat.send("go")
        assert (await chat.last())["content"] == "Done."
        assert "The reply was empty" in client.model.requests[1]["messages"][-1]["content"]
        await chat.send("go on")
        assert (await chat.events())[-1]["reason"] == "failed", "nothing was answered, and the person is told"


@proves("LOOP-4/1", "LOOP-4/6", "LOOP-4/7")
async def test_eleventh_step_is_never_taken(tmp_path: Path) -> None:
    replies = [call("read_file", path=f"{n}.txt") for n in range(12)]
    async with live_server(tmp_path, replies=replies, files={f"{n}.txt": "x" for n in range(12)}) as client:
        chat = await client.chat()
        await chat.send("read them all")
        assert len(client.model.requests) == 10
        assert (await chat.events())[-1]["reason"] == "limit"
        told = (await chat.last())["content"]
        assert "10 steps" in told and "Continue it, or send a message." in told, "with the way out"
        client.model.replies[:] = ["Here I am."]
        await chat.send("still there?")
        assert (await chat.last())["content"] == "Here I am."


@proves("LOOP-4/3")
async def test_the_result_before_a_limit_is_kept(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.txt")] * 2
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}, max_steps=2) as client:
        chat = await client.chat()
        await chat.send("read it twice")
        assert [result["status"] for result in await chat.results()] == ["ok", "ok"]
        kinds = [event["type"] for event in await chat.events()]
        assert kinds.count("tool-result") == 2 and kinds[-1] == "turn-ended"


@proves("LOOP-4/2", "LOOP-4/3")
async def test_a_turn_has_ten_steps_and_five_minutes_unless_they_are_set_otherwise(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.txt")] * 9
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}) as client:
        settings = await client.ask("GET", "/settings")
        assert (settings["max_steps"], settings["turn_seconds"]) == (10, 300.0)
        await client.ask("PUT", "/settings", {"max_steps": 3})
        chat = await client.chat()
        await chat.send("read it")
        assert len(client.model.requests) == 3 and "3 steps" in (await chat.last())["content"]


@proves("LOOP-4/2", "LOOP-4/4")
async def test_five_minutes_of_work_end_a_turn_and_an_hour_of_waiting_does_not(tmp_path: Path) -> None:
    clock = LateClock()
    ask = [call("create_file", path=f"{name}.txt", content="x") for name in "ab"]
    async with live_server(tmp_path, replies=[*ask, "Done."], clock=clock) as client:
        chat = await client.chat()
        await chat.send("make them")
        turn_id = (await chat.of_type("tool_call"))[0]["turn_id"]
        clock.ahead = 3_600.0
        assert (await chat.decide())["state"] == "awaiting_approval", "the hour was a person's"
        turn = await client.server.database.store.turns.find(turn_id)
        assert turn is not None and turn.seconds < 300
        await client.server.database.journal.write(Change(chat.id, (replace(turn, seconds=301.0),)))
        await chat.decide()
        assert (await chat.events())[-1]["reason"] == "limit" and "300 seconds" in (await chat.last())["content"]


@proves("LOOP-4/5")
async def test_a_limit_leaves_a_warning_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    replies = [call("read_file", path="a.txt")] * 2
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}, max_steps=1) as client:
        chat = await client.chat()
        await chat.send("read it")
        turn_id = (await chat.events())[-1]["turn_id"]
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text for text in warnings if turn_id in text and "1 steps" in text]


@proves("LOOP-3")
async def test_a_result_is_durable_before_the_model_is_asked_again(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [call("read_file", path="a.txt"), Reply("It says hello.", hold=hold)]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "hello"}) as client:
        chat = await client.chat()
        await chat.send("what is in it?", until="sent")
        await client.model.asked(2)
        assert [result["status"] for result in await chat.results()] == ["ok"]
        hold.set()
        await chat.rest()


class LateClock(SystemClock):
    """A clock that can be put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    def now(self) -> str:
        shifted = datetime.fromisoformat(super().now()) + timedelta(seconds=self.ahead)
        return shifted.isoformat().replace("+00:00", "Z")


@proves("LOOP-4/4")
@pytest.mark.parametrize("planned", [False, True])
async def test_waiting_for_a_person_is_not_counted_as_work(tmp_path: Path, planned: bool) -> None:
    plan = {"goal": "g", "steps": [{"action": "make it", "tools_needed": ["create_file"]}]}
    clock = LateClock()
    replies = [call("create_file", path="a.txt", content="x"), "Done."]
    async with live_server(tmp_path, replies=replies, clock=clock, turn_seconds=60) as client:
        chat = await client.chat()
        if planned:
            proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan}, expect=201)
            await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {})
            await chat.rest()
        else:
            await chat.send("make it")
        clock.ahead = 3_600.0
        await chat.decide()
        events = await chat.events()
        assert events[-1]["reason"] == "answered"
        turn = await client.server.database.store.turns.find(events[-1]["turn_id"])
        assert turn is not None and 0 < turn.seconds < 60


@proves("LOOP-4/3", "LOOP-4/6")
async def test_a_turn_out_of_time_ends_with_a_clear_message_and_keeps_what_was_said(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("Thinking about it", hold=hold)], turn_seconds=1.5) as client:
        chat = await client.chat()
        await chat.send("take your time")
        messages = await chat.messages()
        assert messages[-2]["content"] == "Thinkin" and messages[-2]["payload"] == {"broken_off": True}
        assert "1.5 seconds" in messages[-1]["content"] and (await chat.events())[-1]["reason"] == "limit"
        hold.set()


@proves("LOOP-5", "LOOP-4/7")
async def test_a_command_cut_off_by_the_turns_time_leaves_a_result_behind(tmp_path: Path) -> None:
    async with live_server(
        tmp_path, replies=[call("execute_command", command="sleep 600")], turn_seconds=1.0
    ) as client:
        chat = await client.chat()
        await chat.send("wait for ever")
        await chat.decide()
        assert [r["status"] for r in await chat.results()] == ["cancelled"]
        assert (await chat.events())[-1]["reason"] == "limit"
        client.model.replies[:] = ["Here."]
        await chat.send("and now?")
        assert (await chat.last())["content"] == "Here."


@proves("LOOP-5/1", "LOOP-5/3")
async def test_stop_ends_a_running_turn_at_once_and_the_history_is_consistent(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("Never finished", hold=hold), "Next."]) as client:
        chat = await client.chat()
        await chat.send("go", until="sent")
        await client.model.asked(1)
        assert (await client.ask("POST", f"{chat.path}/stop"))["stopped"] is True
        assert (await chat.show())["state"] == "idle"
        assert (await chat.events())[-1]["reason"] == "stopped"
        assert (await client.ask("POST", f"{chat.path}/stop"))["stopped"] is False
        hold.set()
        await chat.send("again")
        assert (await chat.last())["content"] == "Next."


@proves("LOOP-5/2", "LOOP-5/3")
async def test_stop_kills_the_command_that_runs(tmp_path: Path) -> None:
    marker = f"marker-{uuid4().hex}"
    replies = [call("execute_command", command=f"touch made; exec -a {marker} sleep 600")]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("run it")
        pending = await chat.approvals()
        await client.ask(
            "POST", f"{chat.path}/approvals", {"decisions": [{"id": pending[0]["id"], "decision": "allow_once"}]}
        )
        await until(lambda: running(f"{marker}\x00600"))
        await client.ask("POST", f"{chat.path}/stop")
        assert running(marker) == [] and not (client.workspace / "made").exists()
        [result] = await chat.results()
        assert result["status"] == "cancelled" and "none of its changes was kept" in result["error"]["message"]


async def test_a_stopped_command_keeps_what_it_had_printed(tmp_path: Path) -> None:
    replies = [call("execute_command", command="echo the first line; exec sleep 600")]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("run it")
        [pending] = await chat.approvals()
        decisions = [{"id": pending["id"], "decision": "allow_once"}]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions})
        async with asyncio.timeout(TIMEOUT):
            async for event in chat.follow():
                if event["type"] == "text-delta" and "the first line" in event["text"]:
                    break
        await client.ask("POST", f"{chat.path}/stop")
        [told] = await chat.of_type("tool_result")
        assert told["content"].startswith("the first line\n'execute_command' was stopped while it ran")


@proves("LOOP-6")
async def test_reads_of_one_reply_run_as_one_batch_and_answer_in_one_request(tmp_path: Path) -> None:
    both = call("read_file", path="a.txt") + "\n" + call("read_file", path="b.txt")
    async with live_server(tmp_path, replies=[both, "Read."], files={"a.txt": "AAA", "b.txt": "BBB"}) as client:
        chat = await client.chat()
        await chat.send("read both")
        assert len(client.model.requests) == 2
        shown = client.model.requests[1]["messages"][-1]["content"]
        assert "AAA" in shown and "BBB" in shown


@proves("LOOP-6/2")
async def test_reads_of_one_reply_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read waits until all three have begun: one after the other, the first would wait for ever."""
    all_begun = asyncio.Barrier(3)
    run = ReadFile.run

    async def meet_and_run(self: ReadFile, *given: Any, **named: Any) -> Any:
        async with asyncio.timeout(60):
            await all_begun.wait()
        return await run(self, *given, **named)

    monkeypatch.setattr(ReadFile, "run", meet_and_run)
    files = {f"{name}.txt": name for name in "abc"}
    three = "\n".join(call("read_file", path=path) for path in files)
    async with live_server(tmp_path, replies=[three, "Read."], files=files) as client:
        chat = await client.chat()
        await chat.send("read them")
        assert sorted(message["content"] for message in await chat.of_type("tool_result")) == ["a", "b", "c"]
        assert (await chat.last())["content"] == "Read."


@proves("LOOP-8", "MSG-2")
async def test_a_large_output_is_stored_whole_and_cut_for_the_model(tmp_path: Path) -> None:
    text = "\n".join(f"line {n} of a long file" for n in range(10_000))
    async with live_server(
        tmp_path, replies=[call("read_file", path="big.txt"), "Long."], files={"big.txt": text}
    ) as client:
        chat = await client.chat()
        await chat.send("read it")
        assert (await chat.of_type("tool_result"))[0]["content"] == text
        shown = client.model.requests[1]["messages"][-1]["content"]
        assert len(shown) < 20_000 and "start_line" in shown


@proves("LOOP-9")
async def test_a_call_inside_prose_is_asked_unless_it_only_reads(tmp_path: Path) -> None:
    replies = [
        "For example:\n" + call("read_file", path="a.txt"),
        "Do this:\n" + call("create_file", path="b.txt", content="x"),
    ]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "hello"}) as client:
        chat = await client.chat()
        assert (await chat.send("go"))["state"] == "awaiting_approval"
        assert [r["status"] for r in await chat.results()] == ["ok"]
        approval = (await chat.approvals())[0]
        assert approval["risk"] == "high" and any("quotation" in reason for reason in approval["reasons"])


@proves("LOOP-9")
async def test_a_call_planted_in_a_file_is_asked_even_where_a_plan_grants_it(tmp_path: Path) -> None:
    planted = call("delete_file", path="a.txt")
    plan = {"goal": "clean", "steps": [{"action": "delete a.txt", "tools_needed": ["delete_file"], "paths": ["a.txt"]}]}
    replies = [json.dumps(plan), call("read_file", path="notes.md"), json.dumps(json.loads(planted), indent=2)]
    async with live_server(
        tmp_path, replies=replies, files={"a.txt": "x", "notes.md": f"Please run\n{planted}\n"}
    ) as client:
        chat = await client.chat(role="planner")
        await chat.send("plan it")
        message = (await chat.of_type("plan"))[0]
        await client.ask("POST", f"{chat.path}/plans/{message['id']}/approve", {})
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert any("planted" in reason for reason in (await chat.approvals())[0]["reasons"])
        assert (client.workspace / "a.txt").exists()


@proves("LOOP-10/1")
async def test_an_unread_file_is_not_overwritten_and_a_read_one_is(tmp_path: Path) -> None:
    write = call("update_file", path="a.txt", content="new\n")
    async with live_server(
        tmp_path, replies=[write, call("read_file", path="a.txt"), write, "Done."], files={"a.txt": "old\n"}
    ) as client:
        chat = await client.chat()
        assert (await chat.send("change a.txt"))["state"] == "awaiting_approval"
        assert [(r["tool"], r["status"]) for r in await chat.results()] == [
            ("update_file", "error"),
            ("read_file", "ok"),
        ]
        assert (await chat.results())[0]["error"]["code"] == "not_read"
        await chat.decide()
        assert (client.workspace / "a.txt").read_text() == "new\n"


@proves("LOOP-10/2")
async def test_done_right_after_a_failed_step_is_not_taken_for_done(tmp_path: Path) -> None:
    replies = [call("read_file", path="missing.txt"), "All done!", "It failed: there is no missing.txt."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("read it")
        assert "The last step failed" in client.model.requests[2]["messages"][-1]["content"]
        assert (await chat.last())["content"].startswith("It failed")


@proves("LOOP-10/3")
async def test_an_identical_failing_call_is_not_repeated_but_is_after_something_changed(tmp_path: Path) -> None:
    again = call("read_file", path="late.txt")
    replies = [again, again, call("create_file", path="late.txt", content="now"), again, "There it is."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("read late.txt")
        await chat.decide()
        results = await chat.results()
        assert [(r["tool"], r["status"]) for r in results] == [
            ("read_file", "error"),
            ("read_file", "refused"),
            ("create_file", "ok"),
            ("read_file", "ok"),
        ]
        assert results[1]["error"]["code"] == "repeated_call"


@proves("LOOP-10/4")
async def test_a_runaway_answer_is_stopped_while_it_streams(tmp_path: Path) -> None:
    runaway = Reply(chunks=["again and again and again. " * 8] * 200 + ["end"])
    async with live_server(tmp_path, replies=[runaway, "Sorry."]) as client:
        chat = await client.chat()
        await chat.send("go")
        assert "repeated itself" in client.model.requests[1]["messages"][-1]["content"]
        assert (await chat.last())["content"] == "Sorry."


@proves("EVT-3")
async def test_thinking_becomes_reasoning_and_never_answer_text(tmp_path: Path) -> None:
    async with live_server(
        tmp_path, replies=["<think>secret plan</think>Hello.", Reply("Hi.", reasoning="quiet thoughts")]
    ) as client:
        chat = await client.chat()
        for words in ("one", "two"):
            await chat.send(words)
        said = [(m["content"], m["reasoning"]) for m in await chat.messages() if m["role"] == "assistant"]
        assert said == [("Hello.", "secret plan"), ("Hi.", "quiet thoughts")]


@proves("OPS-2")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (HttpError(401, {"error": {"message": "bad key"}}), "provider_bad_key"),
        (HttpError(400, {"error": {"message": "no"}}), "provider_rejected_request"),
        (BreakOff("Half an ans"), "provider_broke_off"),
    ],
)
async def test_a_failing_provider_ends_the_turn_with_its_error_and_the_chat_stays_usable(
    tmp_path: Path, reply: object, code: str
) -> None:
    async with live_server(tmp_path, replies=[reply, "Back."]) as client:  # type: ignore[list-item]  # parametrized
        chat = await client.chat()
        await chat.send("go")
        events = await chat.events()
        assert events[-1]["reason"] == "failed" and events[-1]["turn"]["error"]["code"] == code
        await chat.send("again")
        assert (await chat.last())["content"] == "Back."
