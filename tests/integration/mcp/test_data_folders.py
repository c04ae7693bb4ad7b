"""The data folder of a server: its home folder, kept across restarts, listed with its size, cleaned on request."""

from pathlib import Path
from typing import Any  # a test's own words

import pytest

from support.live_server import LiveServer, live_server
from support.raw_mcp_server import attempted, go, raw_server
from support.spec import proves

HOME = "/home/sandbox"
KEEP = f"Path('{HOME}/notes').mkdir(exist_ok=True); Path('{HOME}/notes/a.txt').write_text('kept'); tell(os.environ['HOME'])"
READ = f"tell(Path('{HOME}/notes/a.txt').read_text())"


async def added(client: LiveServer, tmp_path: Path, **config: Any) -> dict[str, Any]:
    wanted = raw_server(tmp_path / "far", **{"data_folder": True, **config})
    await client.ask("POST", "/mcp/servers", wanted, expect=201)
    shown = await client.ask("POST", "/mcp/servers/raw/connect", {})
    assert shown["status"] == "ready", shown.get("error")
    return shown


@proves("MCP-1/2")
@pytest.mark.parametrize("access", ["none", "read", "layer"])
async def test_what_a_server_keeps_is_there_after_a_restart_until_it_is_cleaned(tmp_path: Path, access: str) -> None:
    async with live_server(tmp_path, replies=go(KEEP)) as client:
        shown = await added(client, tmp_path, workspace_access=access)
        assert shown["data_folder"] is True and shown["data_bytes"] == 0 and shown["workspace_access"] == access
        assert HOME in await attempted(await client.chat())
    async with live_server(tmp_path, replies=[*go(READ), *go(READ)]) as client:
        await client.ask("POST", "/mcp/servers/raw/connect", {})
        assert "kept" in await attempted(await client.chat())
        shown = await client.ask("GET", "/mcp/servers/raw")
        assert shown["data_bytes"] > 0
        folders = (await client.ask("GET", "/mcp/data_folders"))["data_folders"]
        assert folders == [{"name": "raw", "bytes": shown["data_bytes"], "has_server": True}]
        await client.ask("DELETE", "/mcp/data_folders/raw", expect=204)
        assert (await client.ask("GET", "/mcp/servers/raw"))["data_bytes"] == 0
        assert (await client.ask("POST", "/mcp/servers/raw/connect", {}))["status"] == "ready"
        assert "FileNotFoundError" in await attempted(await client.chat())


@proves("MCP-1/2")
async def test_a_removed_servers_data_stays_unless_the_person_deletes_it(tmp_path: Path) -> None:
    kept = tmp_path / "data/mcp-data/raw/notes/a.txt"
    async with live_server(tmp_path, replies=[*go(KEEP), *go(READ)]) as client:
        await added(client, tmp_path)
        await attempted(await client.chat())
        await client.ask("DELETE", "/mcp/servers/raw", expect=204)
        assert kept.exists()
        (folder,) = (await client.ask("GET", "/mcp/data_folders"))["data_folders"]
        assert folder["has_server"] is False and folder["bytes"] > 0
        await added(client, tmp_path)
        assert "kept" in await attempted(await client.chat())
        await client.ask("DELETE", "/mcp/servers/raw?with_data=true", expect=204)
        assert not kept.exists()
        await client.ask("DELETE", "/mcp/data_folders/raw", expect=404)
        assert (await client.ask("GET", "/mcp/data_folders"))["data_folders"] == []


async def test_without_a_data_folder_a_server_forgets_and_a_remote_one_cannot_have_one(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[*go(KEEP), *go(READ)]) as client:
        await added(client, tmp_path, data_folder=False, workspace_access="none")
        await attempted(await client.chat())
        assert (await client.ask("POST", "/mcp/servers/raw/connect", {}))["status"] == "ready"
        assert "FileNotFoundError" in await attempted(await client.chat())
        for wrong in ({"data_folder": True}, {"workspace_access": "layer"}, {"workspace_access": "write"}):
            far = {"name": "far", "url": "http://127.0.0.1:9/mcp", **wrong}
            await client.ask("POST", "/mcp/servers", far, expect=422)
        await client.ask("GET", "/mcp/servers/nobody", expect=404)


@proves("MCP-1/2")
async def test_an_edit_keeps_what_it_does_not_name_and_never_tells_a_value(tmp_path: Path) -> None:
    tell = "tell(sorted((name, os.environ[name]) for name in os.environ if name.startswith('MY_')))"
    async with live_server(tmp_path, replies=[*go(tell), *go(tell)]) as client:
        await added(client, tmp_path, env={"MY_KEY": "first-secret", "MY_OTHER": "x"}, read_only=["add"])
        changes = {"env": {"MY_OTHER": None, "MY_NEW": "second-secret"}, "workspace_access": "none", "timeout": 30}
        shown = await client.ask("PATCH", "/mcp/servers/raw", changes)
        assert shown["env"] == ["MY_KEY", "MY_NEW"] and "secret" not in str(shown)
        assert shown["read_only"] == ["add"] and shown["timeout"] == 30 and shown["data_folder"] is True
        assert (await client.ask("POST", "/mcp/servers/raw/connect", {}))["status"] == "ready"
        told = await attempted(await client.chat())
        assert "[('MY_KEY', 'first-secret'), ('MY_NEW', 'second-secret')]" in told
        for wrong in (
            {"url": "https://x.org"},
            {"name": "other"},
            {"module": "x:y"},
            {"network": ["*"]},
            {"env": {"a b": ""}},
        ):
            await client.ask("PATCH", "/mcp/servers/raw", wrong, expect=422)
        assert "[('MY_KEY', 'first-secret'), ('MY_NEW', 'second-secret')]" in await attempted(await client.chat())
