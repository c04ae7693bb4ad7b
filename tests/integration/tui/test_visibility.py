"""Who sees the chat, said and changed in the terminal."""

from pathlib import Path

from support.live_server import live_server
from support.people import person
from support.spec import proves
from support.terminals import before_a_screen


@proves("OPS-6/1", "OPS-6/2")
async def test_who_sees_the_chat_is_chosen_from_a_list_or_typed(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path) as owner,
        person(owner, "Ada", "member", ("design",)) as ada,
        person(owner, "Cleo", "member", ("design",)) as cleo,
        before_a_screen(owner, token=ada.token) as screen,
    ):
        path = f"/context/{screen.chat_id}"
        assert await cleo.status("GET", path) == 404
        await screen.say("/visibility")
        await screen.sees("Who can see this chat?", "Only its owner", "The group design", "Everyone on this server")
        await screen.pilot.press("down", "enter")
        await screen.sees("Who can see it: The group design")
        assert (await cleo.ask("GET", path))["visibility"] == "group:design"
        await screen.say("/visibility all")
        await screen.sees("'all' is no visibility.")
        await screen.say("/visibility private")
        await screen.sees("Who can see it: Only its owner")
        assert await cleo.status("GET", path) == 404
        await screen.pilot.press("f5")
        await screen.sees("Which chat?", "Only its owner  ")


@proves("OPS-6/1")
async def test_another_persons_chat_is_shared_no_further_and_a_hidden_one_is_gone(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada", "admin") as ada, person(owner, "Ben") as ben:
        chat = await ada.chat(visibility="everyone")
        async with before_a_screen(owner, token=ben.token, chat_id=chat.id) as screen:
            await screen.say("/visibility private")
            await screen.sees("Only the owner of this chat")
            await ada.ask("PATCH", chat.path, {"visibility": "private"})
            await screen.say("/visibility everyone")
            await screen.sees(f"no chat '{chat.id}'")
