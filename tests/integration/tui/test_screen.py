"""The chat in the terminal, by its keys: the real screen, the real server, a scripted model."""

import asyncio
import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from anycowork.tui import docks
from anycowork.tui.composer import Composer
from anycowork.tui.screen import ChatScreen
from support.jobs import LINES, question_about, until
from support.live_server import live_server
from support.scripted_model import HttpError, Reply, call
from support.spec import proves
from support.terminals import at_a_terminal, before_a_screen

PLAN = {
    "type": "plan",
    "goal": "Greet the world",
    "steps": [{"action": "Write hello.txt", "tools_needed": ["create_file"], "paths": ["hello.txt"]}],
}
QUESTION = {
    "type": "question",
    "question": "Which colour?",
    "options": [{"label": "Red", "value": "red"}, {"label": "Blue", "value": "blue"}],
    "default": "blue",
    "allow_custom": True,
}


@proves("CLI-2", "ROL-3/4")
async def test_a_new_chat_is_an_actors_says_who_answers_and_shows_the_answer(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=["It is **quite** simple."]) as person:
        await person.sees("A new chat in", "answers", "Ctrl+R switches the role", "actor")
        assert (await person.chat.show())["config"]["agent_role"] == "actor"
        await person.say("How is it?")
        await person.sees("How is it?", "It is quite simple.", "ready")


async def test_wait_for_the_models_server_is_shown_and_counted_and_can_be_stopped(tmp_path: Path) -> None:
    """However early the person speaks: the screen may join the chat when it waits already."""
    async with at_a_terminal(tmp_path, replies=[HttpError(429, retry_after="55"), "Too late."]) as person:
        await person.say("How is it?")
        await person.sees("The model server is busy (429). Trying again in 55 s (2 of 4).")
        await person.until(lambda: re.search(r"working … \d+ s", person.seen()) is not None)
        await person.press("escape")
        await person.sees("ready")
        assert "Too late." not in person.seen()


async def test_the_rule_that_always_saves_is_shown_whole_however_long_it_is(tmp_path: Path) -> None:
    command = "python -c 'print(1)' " + " ".join(f"--option-{number}" for number in range(12))
    async with at_a_terminal(tmp_path, replies=[call("execute_command", command=command), "Done."]) as person:
        await person.say("Run it")
        await person.sees("May the agent do this?")
        await person.attend()
        await person.sees("a always:", "--option-11”")
        assert person.screen.query_one("#approval-keys").region.right <= person.screen.size.width, "none of it is cut"


@proves("CLI-2")
async def test_a_call_that_asks_is_shown_with_its_diff_and_allowed_by_a_key(tmp_path: Path) -> None:
    replies = [call("create_file", path="hello.txt", content="hi there\n"), "Done."]
    async with at_a_terminal(tmp_path, replies=replies) as person:
        await person.say("Greet")
        await person.sees("May the agent do this?", "create_file", "hello.txt", "+hi there", "waits for your approval")
        assert not (person.workspace / "hello.txt").exists()
        await person.press("y")
        await person.sees("Done.", "ready")
        assert (person.workspace / "hello.txt").read_text() == "hi there\n"


@proves("CLI-2")
async def test_a_denial_with_its_reason_reaches_the_agent(tmp_path: Path) -> None:
    replies = [call("create_file", path="hello.txt", content="hi\n"), "Then not."]
    async with at_a_terminal(tmp_path, replies=replies) as person:
        await person.say("Greet")
        await person.sees("May the agent do this?")
        await person.press("N")
        await person.sees("Why not?")
        await person.press(*"wrong", "enter")
        await person.sees("✗ Denied. Reason: “wrong”", "Then not.")
        assert "wrong" in (await person.chat.of_type("tool_result"))[0]["content"]


@proves("CLI-2")
async def test_several_calls_are_looked_at_one_by_one_and_allowed_together(tmp_path: Path) -> None:
    both = "\n".join(call("create_file", path=f"{name}.txt", content=name) for name in ("one", "two"))
    async with at_a_terminal(tmp_path, replies=[both, "Done."]) as person:
        await person.say("Make two")
        await person.sees("1 of 2", "one.txt")
        await person.press("right")
        await person.sees("2 of 2", "two.txt")
        await person.press("Y")
        await person.sees("Done.")
        assert {path.name for path in person.workspace.iterdir()} == {"one.txt", "two.txt"}


async def test_each_result_of_a_batch_stands_below_its_own_call(tmp_path: Path) -> None:
    both = "\n".join(call("read_file", path=name) for name in ("one.txt", "two.txt"))
    async with at_a_terminal(
        tmp_path, replies=[both, "Read."], files={"one.txt": "first words\n", "two.txt": "second words\n"}
    ) as person:
        await person.say("Read both")
        await person.sees("Read.", "ready")
        cards = person.seen()
        order = [
            cards.index(words) for words in ("read_file one.txt", "first words", "read_file two.txt", "second words")
        ]
        assert order == sorted(order), cards


@proves("CLI-2", "APR-8")
async def test_a_key_on_its_way_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docks, "GUARD_SECONDS", 3600.0)
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a")]) as person:
        await person.say("Make it")
        await person.sees("May the agent do this?")
        await person.pilot.press("y")
        assert await person.chat.approvals()


@proves("CLI-2", "APR-8")
async def test_whoever_types_when_a_call_asks_goes_on_typing_and_decides_nothing(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a"), "Done."]) as person:
        await person.say("Make it")
        await person.sees("May the agent do this?")
        await person.press(*"byy")
        composer = person.screen.query_one(Composer)
        await person.until(lambda: composer.text == "byy")
        assert await person.chat.approvals()
        await person.pilot.press("f2")
        await person.press("y")
        await person.sees("Done.")


STEP_DONE = re.compile(r"1\. Write hello\.txt +✓ done")


@proves("CLI-2")
async def test_a_plan_is_read_approved_and_carried_out(tmp_path: Path) -> None:
    replies = [json.dumps(PLAN), call("create_file", path="hello.txt", content="hi\n"), "Done."]
    async with at_a_terminal(tmp_path, replies=replies, role="planner") as person:
        await person.say("Greet the world")
        await person.sees("Plan: Greet the world", "1. Write hello.txt", "may change  hello.txt", "waits for you")
        await person.press("n")
        await person.until(lambda: person.screen.focused is person.screen.query_one(Composer))
        await person.pilot.press("f2")
        await person.press("y")
        await person.sees("You approved the plan.", "actor", "Done.", "✓ done")
        assert (person.workspace / "hello.txt").read_text() == "hi\n"
        assert STEP_DONE.search(person.seen()), "the state stands beside the step"
        async with before_a_screen(person.client, chat_id=person.chat_id) as later:
            await later.until(lambda: bool(STEP_DONE.search(later.seen())), told=later.seen)


@proves("CLI-2")
async def test_a_question_is_answered_by_an_option(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[json.dumps(QUESTION), "Blue it is."]) as person:
        await person.say("Paint it")
        await person.sees("Which colour?", "waits for your answer")
        await person.press("enter")  # its default
        await person.sees("Blue it is.")


@proves("CLI-2")
async def test_a_question_is_answered_in_own_words(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[json.dumps(QUESTION), "Green, then."]) as person:
        await person.say("Paint it")
        await person.sees("Which colour?")
        await person.press("down", "enter")
        await person.until(lambda: person.screen.focused is person.screen.query_one("#composer"))
        await person.say("green")
        await person.sees("Green, then.")
        assert "green" in json.dumps(person.client.model.requests[-1])


@proves("CLI-2", "JOB-3/7")
async def test_a_conflict_of_a_job_is_merged_by_hand_in_the_persons_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChatScreen, "suspend", lambda screen: nullcontext())  # there is no terminal under the screen
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i -e '/^[<=>]\\{7\\}/d' -e 's/^two by a$/and by a/'")
    async with live_server(tmp_path, files={"f.txt": LINES}) as client:
        chat, job, _ = await question_about(client, asyncio.Event(), "task")
        async with before_a_screen(client, chat_id=chat.id) as person:
            await person.sees(
                "Task 'do b' and task 'do a' changed 'f.txt'", "Merge by hand: write the file as it should be"
            )
            await person.sees("goes here to answer")  # the words above come before anything can be answered
            await person.press("down", "down", "down", "enter")
            done = await until(client, chat, job["id"], "completed", "failed")
        assert done["status"] == "completed", done
        merged = LINES.replace("two", "two by b\nand by a").replace("seven", "seven by b")
        assert (client.workspace / "f.txt").read_text() == merged


@proves("CLI-2", "SWI-1")
async def test_the_role_is_switched_from_a_list(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path) as person:
        await person.sees("A new chat")
        await person.pilot.press("ctrl+r")
        await person.sees("Which role?")
        await person.pilot.press("up", "enter")
        await person.sees("Role switched from actor to planner.")


async def test_escape_stops_the_turn(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with at_a_terminal(tmp_path, replies=[Reply("One two three", chunks=["One ", "two"], hold=hold)]) as person:
        await person.say("Count")
        await person.sees("One ", "working")
        await person.pilot.press("escape")
        await person.sees("Stopped by the person.", "ready")
        hold.set()


@proves("CLI-2", "SNAP-2")
async def test_changes_are_taken_back_to_a_chosen_moment(tmp_path: Path) -> None:
    replies = [call("create_file", path="hello.txt", content="hi\n"), "Done."]
    async with at_a_terminal(tmp_path, replies=replies) as person:
        await person.say("Greet")
        await person.sees("May the agent do this?")
        await person.press("y")
        await person.sees("Done.")
        await person.pilot.press("ctrl+g")
        await person.sees("Restore the files as of")
        await person.pilot.press("enter")
        await person.sees("1 file to be removed: hello.txt")
        await person.pilot.press("enter")
        await person.until(lambda: not (person.workspace / "hello.txt").exists())


@proves("CLI-2", "SNAP-2")
async def test_all_that_a_turn_changed_is_taken_back_by_the_first_choice(tmp_path: Path) -> None:
    replies = ["\n".join(call("create_file", path=f"{name}.txt", content=name) for name in "ab"), "Done."]
    async with at_a_terminal(tmp_path, replies=replies) as person:
        await person.say("Greet")
        await person.sees("1 of 2")
        await person.press("Y")
        await person.sees("2 of 2")
        await person.press("Y")
        await person.sees("Done.")
        await person.pilot.press("ctrl+g")
        await person.sees("before all 2 changes of the turn", "before create_file b.txt", "before create_file a.txt")
        await person.pilot.press("enter")
        await person.sees("2 files to be removed: a.txt, b.txt")
        await person.pilot.press("enter")
        await person.until(lambda: not list(person.workspace.iterdir()))


@proves("CLI-2")
async def test_an_open_approval_is_there_again_when_the_chat_is_taken_up(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("create_file", path="a.txt", content="a"), "Done."]) as client:
        async with before_a_screen(client) as person:
            await person.say("Make it")
            await person.sees("May the agent do this?")
        async with before_a_screen(client, newest=True) as person:
            await person.sees("Make it", "May the agent do this?")
            await person.press("y")
            await person.sees("Done.")


async def test_an_open_plan_is_there_again_and_an_approved_one_asks_no_more(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[json.dumps(PLAN), "Nothing to do."]) as client:
        async with before_a_screen(client, role="planner") as person:
            await person.say("Greet the world")
            await person.sees("waits for you")
        async with before_a_screen(client, chat_id=person.chat_id) as person:
            await person.sees("Plan: Greet the world", "waits for you")
            await person.press("y")
            await person.sees("Nothing to do.", "ready")
        async with before_a_screen(client, chat_id=person.chat_id) as person:
            await person.sees("Nothing to do.")
            assert "waits for you" not in person.seen()


async def test_words_sent_while_a_call_waits_are_queued_and_decide_nothing(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a")]) as person:
        await person.say("Make it")
        await person.sees("May the agent do this?")
        await person.say("and then?")
        await person.sees("Queued: it is sent when the agent has finished.")
        assert await person.chat.approvals()


async def test_what_comes_while_a_list_stands_in_front_is_there_behind_it(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with at_a_terminal(tmp_path, replies=[Reply(chunks=["Hm", "."], hold=hold)]) as person:
        await person.say("Think")
        await person.sees("Hm")
        await person.pilot.press("ctrl+r")
        await person.sees("Which role?")
        hold.set()
        await person.chat.rest()
        await person.pilot.press("escape")
        await person.sees("Hm.", "ready")


@proves("CLI-2", "LOOP-11")
async def test_a_turn_at_its_limit_is_continued_by_a_key(tmp_path: Path) -> None:
    replies = [call("list_directory", path="."), "That is all."]
    async with at_a_terminal(tmp_path, replies=replies, max_steps=1) as person:
        await person.say("Look around")
        await person.sees("after 1 steps", "stopped: F3 continues")
        assert person.seen().count("after 1 steps") == 1, "told once"
        assert not person.screen.query(".card.error"), "nothing went wrong"
        await person.press("f3")
        await person.sees("That is all.", "ready")


@proves("CLI-2")
async def test_a_stopped_turn_is_dismissed_by_a_command_and_waits_for_nobody(tmp_path: Path) -> None:
    replies = [call("list_directory", path="."), "Something else, then."]
    async with at_a_terminal(tmp_path, replies=replies, max_steps=1) as person:
        await person.say("Look around")
        await person.sees("after 1 steps", "/dismiss drops it")
        await person.say("/dismiss")
        await person.sees("ready")
        assert (await person.client.ask("GET", f"/context/{person.chat_id}")).get("waiting") is None
        await person.say("/dismiss")
        await person.sees("Nothing waits here that could be dismissed")


@proves("CLI-2")
async def test_a_dismissed_plan_asks_no_more_and_changes_nothing(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[json.dumps(PLAN)]) as client:
        async with before_a_screen(client, role="planner") as person:
            await person.say("Greet the world")
            await person.sees("The plan above waits for you. Approving it switches to the actor and allows:")
            await client.ask("PUT", f"/context/{person.chat_id}/role", {"role": "actor"})
            await person.sees("The plan above waits for you. Approving it allows:")
            await person.say("/dismiss")
            await person.until(lambda: "The plan above waits for you" not in person.seen())
        async with before_a_screen(client, chat_id=person.chat_id) as person:
            await person.sees("Plan: Greet the world")
            assert "The plan above waits for you" not in person.seen()
        assert not (client.workspace / "hello.txt").exists()


@proves("CLI-2", "MOD-2", "UI-7")
async def test_commands_choose_the_model_and_compact_and_what_is_typed_meanwhile_is_queued(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply("It is 42, as was said.", hold=hold), "After that."]
    async with at_a_terminal(tmp_path, replies=replies) as person:
        await person.sees("A new chat in")
        await person.say("/help")
        await person.sees("/compact: shorten")
        await person.say("/model")
        await person.sees("Which model?")
        await person.press("enter")
        await person.sees("The model is")
        await person.say("What is it?")
        await person.sees("working")
        await person.say("And then?")
        await person.sees("Queued: it is sent")
        hold.set()
        await person.sees("After that.", "ready")
        await person.until(lambda: "Queued:" not in person.seen(), told=person.seen)
        await person.say("/compact")
        await person.sees("earlier messages are left out here")
        assert [m["content"] for m in await person.chat.messages() if m["role"] == "user"] == [
            "What is it?",
            "And then?",
        ]


@proves("CLI-2", "APR-9")
async def test_autonomy_is_chosen_by_a_key_and_shown(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a"), "Done."]) as person:
        await person.sees("A new chat in")
        await person.press("f4")
        await person.sees("How much may happen without asking?")
        await person.press("down", "enter")
        await person.sees("autonomy: edits", "Autonomy changed from ask to edits.")
        await person.say("Make it")
        await person.sees("Done.")
        assert (person.workspace / "a.txt").read_text() == "a"


async def test_a_queued_message_that_a_stop_holds_back_is_named(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply("One two three", chunks=["One ", "two"], hold=hold), "Six.", "Later."]
    async with at_a_terminal(tmp_path, replies=replies) as person:
        await person.say("Count")
        await person.sees("One ", "working")
        await person.say("Then count on")
        await person.sees("Queued: it is sent when the agent has finished.")
        await person.pilot.press("escape")
        await person.sees("Stopped by the person.", 'Not sent yet, because the turn did not finish: "Then count on"')
        hold.set()
        await person.say("Go on")
        await person.sees("Six.", "Later.", "ready")
        assert person.screen.status.queued == {}
