"""Chats are renamed, pinned and archived; lists can be limited to those."""

from pathlib import Path

from support.live_server import LiveServer, live_server
from support.spec import proves


async def titles(client: LiveServer, query: str = "") -> list[str]:
    return [chat["title"] for chat in (await client.ask("GET", f"/context?{query}"))["contexts"]]


@proves("UI-9")
async def test_pinned_and_archived_chats_are_listed_apart_and_stay_so(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."]) as client:
        for title in ("old", "kept", "new"):
            chat = await client.chat(title=title)
            if title != "new":
                field = "archived" if title == "old" else "pinned"
                changed = await client.ask("PATCH", chat.path, {field: True})
                assert changed[field] is True and changed["title"] == title
        assert await titles(client) == ["new", "kept", "old"], "without a filter all of them, as ever"
        assert await titles(client, "archived=false&pinned=false") == ["new"]
        assert await titles(client, "pinned=true") == ["kept"]
        assert await titles(client, "archived=true") == ["old"]
        await chat.send("hi")
        assert (await client.ask("PATCH", chat.path, {"title": "renamed"}))["pinned"] is False
    async with live_server(tmp_path) as client:
        assert await titles(client, "pinned=true") == ["kept"]
        [kept] = (await client.ask("GET", "/context?pinned=true"))["contexts"]
        await client.ask("PATCH", f"/context/{kept['id']}", {"pinned": False})
        assert await titles(client, "pinned=true") == []
        await client.ask("PATCH", f"/context/{kept['id']}", {"pinned": "yes"}, expect=422)
