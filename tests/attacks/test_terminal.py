"""Attempts on the person at a terminal: words of a model, a file or a program that want to steer it, or to hide from it."""

import json
from pathlib import Path

import pytest

from support.scripted_model import call
from support.spec import proves
from support.terminals import at_a_terminal

STEERING = {
    "clear the screen": "\x1b[2J\x1b[H",
    "write into the clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "rename the window": "\x1b]0;all is well\x07",
    "answer for the person": "\x1b[6n",
    "go back over the line": "safe\rrm -rf ~",
    "take a character back": "rm -rf ~\b\b\b\b\b\b\b\bls",
    "eight-bit control": "\x9b2J",
    "turn the direction": "‮txt.exe",
}
MARKUP = "[bold]Allowed.[/bold] [@click=app.quit]leave[/] [link=file:///etc/passwd]x[/link]"


@proves("CLI-2", "SEC-5")
@pytest.mark.parametrize("words", STEERING.values(), ids=STEERING)
async def test_no_words_steer_the_terminal(tmp_path: Path, words: str) -> None:
    replies = [f"Before {words} after.", call("create_file", path="a.txt", content=f"x {words}\n"), "Done."]
    async with at_a_terminal(tmp_path, replies=replies) as person:
        await person.say("Say it")
        await person.sees("Before", "after.")
        await person.say("Write it")
        await person.sees("May the agent do this?")
        drawn = person.seen()
        assert all(char.isprintable() or char == "\n" for char in drawn)


@proves("CLI-2", "SEC-5")
async def test_markup_in_an_answer_is_words(tmp_path: Path) -> None:
    question = {
        "type": "question",
        "question": MARKUP,
        "options": [{"label": MARKUP, "value": "a"}, {"label": "b", "value": "b"}],
    }
    async with at_a_terminal(tmp_path, replies=[json.dumps(question)]) as person:
        await person.say("Ask")
        await person.sees("[@click=app.quit]leave[/]")


@proves("CLI-2", "APR-8")
@pytest.mark.parametrize("line", ["-- x", "++ y", "@@ z", "--- a/other", "+++ /dev/null"])
async def test_no_line_of_a_change_hides_from_who_approves_it(tmp_path: Path, line: str) -> None:
    async with at_a_terminal(
        tmp_path, replies=[call("create_file", path="a.txt", content=f"{line}\nlast\n")]
    ) as person:
        await person.say("Write it")
        await person.sees("May the agent do this?", f"+{line}", "+last")
