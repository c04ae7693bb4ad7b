"""Completion in the input line of the terminal: commands, workflows and files, by keys alone."""

from pathlib import Path

from anycowork.tui.composer import CompletionList, Composer
from support.skills import skill_files, trust_skill
from support.spec import proves
from support.terminals import TerminalUser, at_a_terminal


@proves("CLI-2", "UI-8")
async def test_commands_workflows_and_files_are_completed_by_keys(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, replies=["Read."], files=skill_files("sort-notes")) as person:
        await trust_skill(person.client, "sort-notes")
        (person.workspace / "docs").mkdir()
        (person.workspace / "docs" / "read me.md").write_text("hello\n")
        (person.workspace / "notes.txt").write_text("note\n")
        await person.sees("A new chat in")

        await person.pilot.press("/")
        await person.sees("/chats", "list the chats")
        await person.pilot.press(*"rev")
        await _chosen_is(person, "/review_changes")
        await person.pilot.press("tab")
        await _line_is(person, "/review_changes ")

        await _begins(person, "/sort")
        await _chosen_is(person, "/sort-notes")

        await _begins(person, "/o")
        await _chosen_is(person, "/model")
        await person.pilot.press("down", "enter")
        await _line_is(person, "/role ")

        await _begins(person, "/help")
        await _chosen_is(person, "/help")
        await person.pilot.press("enter")  # typed in full: it is sent
        await person.sees("/compact: shorten", "Workflows", "/review_changes")

        await _begins(person, "look at @note")
        await _chosen_is(person, "@notes.txt")
        await person.pilot.press("enter")
        await _line_is(person, "look at @notes.txt ")
        await person.pilot.press(*"and @docs/re")
        await _chosen_is(person, '@"docs/read me.md"')
        await person.pilot.press("tab", "enter")
        await person.sees("Read.", "ready")
        assert 'look at @notes.txt and @"docs/read me.md"' in [m["content"] for m in await person.chat.messages()]


async def test_escape_and_ctrl_c_close_the_list_and_nothing_else(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path) as person:
        await person.sees("A new chat in")
        for key in ("escape", "ctrl+c"):
            await _begins(person, "/he")
            await _chosen_is(person, "/help")
            await person.sees("show this list")
            await person.pilot.press(key)
            await person.until(lambda: not person.screen.query_one(CompletionList).display)
            await person.pilot.press("l")
            await _line_is(person, "/hel")
            assert not person.screen.query_one(CompletionList).display


async def _begins(person: TerminalUser, words: str) -> None:
    person.screen.query_one(Composer).text = ""
    await person.until(lambda: not person.screen.query_one(CompletionList).display)
    await person.pilot.press(*words)


async def _chosen_is(person: TerminalUser, text: str) -> None:
    composer = person.screen.query_one(Composer)
    await person.until(lambda: composer.chosen is not None and composer.chosen.text == text)


async def _line_is(person: TerminalUser, words: str) -> None:
    await person.until(lambda: person.screen.query_one(Composer).text == words)
