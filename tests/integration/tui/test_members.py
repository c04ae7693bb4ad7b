"""The terminal chat of a person who may neither register folders nor run commands of their own."""

from pathlib import Path

from support.live_server import live_server
from support.people import person
from support.spec import proves
from support.terminals import before_a_screen


@proves("OPS-3/2", "CLI-2")
async def test_a_member_chats_in_the_terminal(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, replies=["Hello, Ada."]) as owner,
        person(owner, "Ada", "member") as ada,
        before_a_screen(owner, token=ada.token) as screen,
    ):
        await screen.sees("A new chat in")
        await screen.say("Hi")
        await screen.sees("Hello, Ada.", "ready")
