"""What a person types never decides, in the terminal: a paragraph in every state that waits, from every place that can have the focus."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widget import Widget

from anycowork.tui import docks
from anycowork.tui.composer import Composer
from anycowork.tui.docks import Dock
from anycowork.tui.message_scroll import CardView, MessageScroll
from support.raw_mcp_server import offered, raw_server
from support.scripted_model import call
from support.spec import proves
from support.terminals import TerminalUser, at_a_terminal

SENTENCE = "ye No, sa"
PARAGRAPH = "yes, sphinx of black quartz: judge my Vow! No 0123456789 aNd why"
PLAN = {
    "type": "plan",
    "goal": "Greet",
    "steps": [{"action": "Write hello.txt", "tools_needed": ["create_file"], "paths": ["hello.txt"]}],
}
QUESTION = {
    "type": "question",
    "question": "Which colour?",
    "options": [{"label": "Red", "value": "red"}, {"label": "Blue", "value": "blue"}],
    "default": "blue",
    "allow_custom": True,
}
WAITING = {
    "one call": (call("create_file", path="a.txt", content="a"), "actor", "May the agent do this?"),
    "several calls": (
        "\n".join(call("create_file", path=f"{name}.txt", content=name) for name in "ab"),
        "actor",
        "1 of 2",
    ),
    "a call of another server": (call("raw__hang"), "actor", "May the agent do this?"),
    "a question": (json.dumps(QUESTION), "actor", "Which colour?"),
    "a plan": (json.dumps(PLAN), "planner", "waits for you"),
}
PLACES: dict[str, Callable[[TerminalUser], Widget | None]] = {
    "the input line": lambda person: person.screen.query_one(Composer),
    "the conversation": lambda person: person.screen.query_one(MessageScroll),
    "a message": lambda person: person.screen.query(CardView).last(),
    "what waits": lambda person: next((one for one in person.screen.query(Dock) if one.display), None),
    "nothing": lambda _person: None,
}


async def decided(person: TerminalUser) -> list[object]:
    """What would change if something was decided."""
    chat = await person.chat.show()
    made = [
        one["message_type"]
        for one in await person.chat.messages()
        if one["message_type"] in ("tool_result", "plan_approval", "answer")
    ]
    return [[one["id"] for one in await person.chat.approvals()], chat["state"], chat["config"]["agent_role"], made]


@proves("UI-15/1", "UI-15/2")
@pytest.mark.parametrize("waiting", WAITING)
async def test_a_paragraph_decides_nothing_wherever_the_focus_is(tmp_path: Path, waiting: str) -> None:
    reply, role, words = WAITING[waiting]
    async with at_a_terminal(tmp_path, replies=[reply, *["I see."] * 12], role=role) as person:
        await person.client.ask("POST", "/mcp/servers", raw_server(tmp_path / "far", [offered("hang")]), expect=201)
        await person.client.ask("POST", "/mcp/servers/raw/connect", {})
        await person.say("Do it")
        await person.sees(words)
        composer = person.screen.query_one(Composer)
        assert person.screen.focused is composer, "what waits takes no focus"
        before = await decided(person)
        for place, widget in PLACES.items():
            if waiting == "a question" and place == "what waits":
                await person.pilot.press("f2")
            else:
                person.screen.screen.set_focus(widget(person))
            composer.text = ""
            typed = PARAGRAPH if place == "nothing" else SENTENCE
            await person.pilot.press(*typed)
            await person.until(lambda: composer.text == typed, told=lambda: f"{place}: {composer.text!r}")  # noqa: B023
            await person.pilot.press("escape")
            assert await decided(person) == before, place
        await person.pilot.press("enter", "y", "enter", "n", "escape", "enter")
        await person.until(lambda: composer.text == "")
        await person.pilot.pause()
        after = await decided(person)
        assert [after[0], after[2:]] == [before[0], before[2:]]
        assert not list(person.workspace.iterdir())


@proves("UI-15/2")
async def test_a_letter_decides_once_the_card_was_given_the_focus_and_stays_alone(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a"), "Done."]) as person:
        await person.say("Make it")
        await person.sees("F2, Tab or a click goes here")
        await person.press(*"yo")
        composer = person.screen.query_one(Composer)
        await person.until(lambda: composer.text == "yo")
        assert await person.chat.approvals()
        await person.pilot.press("f2", "f2")  # the second one leaves the focus where it is
        dock = next(one for one in person.screen.query(Dock) if one.display)
        assert dock.has_focus_within
        await person.sees("y allow once")
        await person.press("y")
        await person.sees("Done.")


@proves("UI-15/1")
async def test_a_letter_typed_in_the_conversation_goes_to_the_input_line(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a"), "Done."]) as person:
        await person.say("Make it")
        await person.sees("F2, Tab or a click goes here")
        person.screen.screen.set_focus(person.screen.query_one(MessageScroll))
        await person.pilot.press("y")
        composer = person.screen.query_one(Composer)
        await person.until(lambda: composer.text == "y")
        assert person.screen.focused is composer and await person.chat.approvals()


@proves("UI-15/2")
async def test_two_letters_that_decide_are_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docks, "ALONE_SECONDS", 60.0)  # however slowly the second one comes
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a"), "Done."]) as person:
        await person.say("Make it")
        await person.sees("F2, Tab or a click goes here")
        await person.pilot.press("f2")
        await person.sees("y allow once")
        dock = next(one for one in person.screen.query(Dock) if one.display)
        await person.until(lambda: dock.accepts_keys)
        await person.pilot.press(*"yn")
        composer = person.screen.query_one(Composer)
        await person.until(lambda: composer.text == "yn")
        assert await person.chat.approvals()


@proves("UI-15/1")
async def test_what_is_typed_in_front_of_a_restore_restores_nothing(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=[call("create_file", path="a.txt", content="a"), "Done."]) as person:
        await person.say("Make it")
        await person.sees("May the agent do this?")
        await person.press("y")
        await person.sees("Done.")
        await person.pilot.press("ctrl+g")
        await person.sees("Restore the files as of")
        await person.pilot.press(*"yes now", "enter", *"y", "enter")
        await person.pilot.press("escape")
        assert (person.workspace / "a.txt").exists()
