"""The check of all audit chains over HTTP: what it read; watched and stopped."""

from pathlib import Path

from support.live_server import live_server


async def test_check_says_what_it_read(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        client.model.replies[:] = ["Hello.", "Hello again."]
        await chat.send("hello")
        first = await client.ask("POST", "/audit/verify", {})
        assert first["full"] and not first["broken"] and first["earlier"] == 0 < first["checked"]
        await chat.send("and again")
        second = await client.ask("POST", "/audit/verify", {})
        assert second["full"] and second["checked"] > first["checked"], "so few records are always read again"
        assert not second["stopped"] and second["chains"] == 2
        again = await client.ask("POST", "/audit/verify?full=true", {})
        assert again["full"] and again["checked"] == second["checked"]
        none = {"running": False, "chats": 0, "all_chats": 0, "records": 0}
        assert await client.ask("GET", "/audit/verify") == none
        await client.ask("DELETE", "/audit/verify", expect=204)
