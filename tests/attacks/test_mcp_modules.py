"""Attempts to have code imported into the server as a module that serves MCP: only the owner's config.toml can name one."""

import json
import sys
from pathlib import Path

import pytest

from anycowork.config.loading import load_settings
from anycowork.server.secrets.mcp_stores import SERVERS_FILE
from support.distributions import install
from support.live_server import live_server
from support.spec import proves

GROUP = "anycowork.mcp_servers"


@proves("SEC-4")
async def test_nothing_but_the_owners_settings_imports_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "imported"
    code = f"from pathlib import Path\nPath({str(mark)!r}).write_text('')\ntools = []\nserver = None\n"
    module, workspace, data = "evil-module:evil_module:server", tmp_path / "workspace", tmp_path / "data"
    for folder in (workspace, workspace / "plugins", workspace / ".anycowork" / "plugins", data / "plugins"):
        install(folder, "evil-module", code, entries={"evil": "evil_module:server"}, group=GROUP)
    install(data / "plugins", "evil-tools", code)
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": {"module": module}}}))
    (workspace / "config.toml").write_text('mcp_modules = ["evil-module"]')
    (data / SERVERS_FILE).write_text(json.dumps([{"name": "stored", "module": module}]))
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("ANYCOWORK_MCP_MODULES", "evil-module")
    assert load_settings({"data_dir": data}, {"ANYCOWORK_MCP_MODULES": "evil-module"}, cwd=workspace).mcp_modules == ()

    async with live_server(tmp_path, replies=[], plugins=("evil-tools",)) as client:
        await client.ask("POST", "/mcp/servers", {"name": "evil", "module": module}, expect=422)
        await client.ask("PUT", "/settings", {"mcp_modules": ["evil-module"]}, expect=422)
        chat = await client.chat()
        wanted = {"servers": [{"name": "evil", "module": module}]}
        await client.ask("POST", f"{chat.path}/mcp_servers", wanted, expect=422)
        assert (await client.ask("GET", "/mcp/servers"))["servers"] == []
        await client.ask("POST", "/mcp/servers/stored/connect", {}, expect=404)
    assert not mark.exists()


async def test_a_module_takes_the_place_of_no_module_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "data" / "plugins"
    code = "from mcp.server import MCPServer\nserver = MCPServer('far')\n"
    install(folder, "far-module", code, entries={"far": "far_module:server"}, group=GROUP)
    for name in ("anycowork", "mcp", "json", "colorsys"):
        (folder / f"{name}.py").write_text("raise SystemExit('taken over')")
    async with live_server(tmp_path, replies=[], mcp_modules=("far-module",)) as client:
        shown = await client.ask("POST", "/mcp/servers/far/connect", {})
        assert shown["status"] == "ready", shown
        import colorsys  # not loaded before: the standard library comes first all the same

        assert colorsys.ONE_THIRD
