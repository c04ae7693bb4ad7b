"""`!command` in the terminal chat: the person's own command, its output as it comes, its end, and where it is refused."""

from pathlib import Path

from anycowork.tui.composer import Composer
from support.spec import proves
from support.terminals import at_a_terminal, before_a_screen


@proves("CLI-2", "UI-10")
async def test_a_command_of_the_person_streams_its_output_is_stopped_and_is_there_again(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, files={"a.txt": "one\n"}) as person:
        await person.sees("A new chat in")
        await person.say("!echo mine; echo more >> a.txt; exit 4")
        await person.sees("$ echo mine", "  mine", "exit code 4, 1 file changed", "ready")
        assert (person.workspace / "a.txt").read_text() == "one\nmore\n"

        await person.say("!echo beg''un; sleep 600")
        await person.sees("begun", "your command runs: Ctrl+C stops it")
        async with before_a_screen(person.client, chat_id=person.chat_id) as other:
            await other.sees("$ echo mine", "begun", "your command runs")  # what was printed before this screen came
        await person.pilot.press("ctrl+c")
        await person.sees("un; sleep 600: stopped", "ready")
        assert person.client.model.requests == []


@proves("CLI-2", "UI-10")
async def test_tab_completes_a_path_of_the_command_and_enter_runs_it(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, files={"my notes.txt": "milk\n"}) as person:
        await person.sees("A new chat in")
        composer = person.screen.query_one(Composer)
        composer.insert("!cat my")
        await person.pilot.press("tab")
        await person.sees("'my notes.txt'")
        await person.pilot.press("tab")
        await person.until(lambda: composer.text == "!cat 'my notes.txt' ")
        await person.pilot.press("enter")
        await person.sees("  milk", "exit code 0")


@proves("CLI-2", "UI-10")
async def test_where_commands_are_off_the_reason_is_shown_and_the_words_stay(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, person_commands="off") as person:
        await person.sees("A new chat in")
        await person.say("!echo mine")
        await person.sees("Commands of people are switched off on this server")
        assert person.screen.query_one(Composer).text == "!echo mine"


@proves("UI-16/2")
async def test_a_note_is_remembered_only_after_its_change_was_seen(tmp_path: Path) -> None:
    async with at_a_terminal(tmp_path, files={"a.txt": "one\n"}) as person:
        await person.sees("A new chat in")
        await person.say("/remember Tests: make test")
        await person.sees("Remember this in AGENTS.md?", "+- Tests: make test")
        await person.pilot.press("enter")  # what is chosen at first leaves the file as it is
        await person.until(lambda: "Remember this in" not in person.seen())
        assert not (person.workspace / "AGENTS.md").exists()
        await person.say("/remember Tests: make test")
        await person.sees("Remember this in AGENTS.md?")
        await person.pilot.press("up", "enter")
        await person.sees("Saved in AGENTS.md")
        assert "- Tests: make test" in (person.workspace / "AGENTS.md").read_text()
