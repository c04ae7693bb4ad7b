"""Other chats in the terminal: the list, a new one, and the search over all of them."""

from pathlib import Path

from support.live_server import live_server
from support.spec import proves
from support.terminals import TerminalUser, before_a_screen


@proves("CLI-2", "UI-9", "ROL-3/4")
async def test_chats_are_listed_filtered_opened_searched_and_begun(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, replies=["Paris.", "Water."]) as client,
        before_a_screen(client, role="reviewer") as person,
    ):
        await person.say("What is the capital?")
        await person.sees("Paris.", "ready")
        first = person.screen.client.chat_id

        await person.say("/new")
        await person.until(lambda: "Paris." not in person.seen())  # the first chat may have said "A new chat", too
        await person.sees("A new chat in")
        await person.say("What do fish drink?")
        await person.sees("Water.", "ready")
        assert person.screen.client.chat_id != first
        begun = await client.ask("GET", f"/context/{person.screen.client.chat_id}")
        assert begun["config"]["agent_role"] == "actor"  # not what the chat before it was

        await _lists_close(person)
        await person.say("/chats")
        await person.sees("Which chat?", "capital", "fish")
        await person.pilot.press(*"capital")
        await person.until(lambda: "fish" not in person.seen())
        await person.pilot.press("enter")
        await person.sees("Paris.", "ready")
        assert person.screen.client.chat_id == first

        await person.say("/search fish drink")
        await person.sees("Found: fish drink", "user: What do fish drink?")
        await person.pilot.press("down", "up", "enter")
        await person.sees("Water.", "ready")
        assert "Paris." not in person.seen()

        await person.say("/search nothingness")
        await person.sees("No chat contains all of these words: nothingness")
        assert person.screen.client.chat_id != first


async def _lists_close(person: TerminalUser) -> None:
    before = person.screen.client.chat_id
    for key in ("escape", "ctrl+c"):
        await person.pilot.press("f5")
        await person.sees("Which chat?")
        await person.pilot.press(key)
        await person.until(lambda: len(person.screen.screen_stack) == 1)
    assert person.screen.client.chat_id == before


async def test_a_command_that_fails_says_why_above_the_input(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client, before_a_screen(client) as person:
        await person.sees("A new chat in")
        await person.say("/role nobody")
        await person.sees("nobody")
        assert person.screen.query_one("#status").has_class("error")
        await person.say("/help")
        await person.sees("/search: search all chats", "F5 chats")
        assert not person.screen.query_one("#status").display
