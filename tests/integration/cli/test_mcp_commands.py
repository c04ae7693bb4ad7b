"""`anycowork mcp add | list | test | remove | import` against a server of its own, as a person types them."""

import json
from pathlib import Path
from typing import Any  # a test's own words

import pytest
from typer.testing import CliRunner

from anycowork.cli.mcp_group import app
from support.raw_mcp_server import raw_server
from support.spec import proves


@pytest.fixture
def mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANYCOWORK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ANYCOWORK_PROBE_LOCAL_SERVERS", "false")

    def typed(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(words), obj=None)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    return typed


def stored(tmp_path: Path) -> list[dict[str, Any]]:
    found = list((tmp_path / "data").glob("mcp-servers.json"))
    return json.loads(found[0].read_text()) if found else []


def test_a_server_is_added_tested_listed_and_removed(tmp_path: Path, mcp: Any) -> None:
    config = raw_server(tmp_path / "far")
    code, said = mcp("add", "raw", "--read-only", "add", "--", config["command"], *config["args"])
    assert code == 0 and "raw: ready" in said and "raw__add, read-only: Add two numbers." in said
    assert mcp("add", "raw", "--url", "http://127.0.0.1:9/mcp")[0] == 1
    assert mcp("add", "Bad Name", "x")[0] == 2
    assert mcp("add", "other", "--env", "NOT_SET_ANYWHERE", "--", "x")[0] == 2
    code, said = mcp("add", "gone", "no-such-program-here")
    assert code == 1 and "gone: failed" in said and "no-such-program-here" in said
    code, said = mcp("list")
    assert code == 0 and "raw:" in said and "gone:" in said
    assert mcp("test", "raw")[0] == 0 and mcp("test", "nobody")[0] == 1
    assert mcp("remove", "raw")[0] == 0 and mcp("remove", "raw")[0] == 1
    assert [one["name"] for one in stored(tmp_path)] == ["gone"]


@proves("SEC-4")
def test_a_workspaces_file_is_read_when_a_person_imports_it_and_adds_what_was_shown(tmp_path: Path, mcp: Any) -> None:
    config = raw_server(tmp_path / "far")
    program = {"command": config["command"], "args": config["args"], "env": {"KEY": "secret-of-raw"}}
    file = tmp_path / "work" / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"Raw Server": program, "token": {"url": "https://x/${TOKEN}"}}}))
    assert mcp("list") == (0, "No MCP servers. `anycowork mcp add` adds one.\n")
    code, said = mcp("import", ".mcp.json")
    assert code == 3 and config["args"][-1] in said and "with KEY" in said and "--env TOKEN" in said
    assert "secret-of-raw" not in said and stored(tmp_path) == []
    assert mcp("import", ".mcp.json", "--yes")[0] == 1  # 'token' was not added
    assert [one["name"] for one in stored(tmp_path)] == ["raw-server"]
    changed = {"mcpServers": {"raw-server": {"command": "/bin/false"}, "new": {"command": "/bin/false"}}}
    file.write_text(json.dumps(changed))
    code, said = mcp("list")
    assert "new" not in said
    assert mcp("import", ".mcp.json")[0] == 3
    assert [one["command"] for one in stored(tmp_path)] == [config["command"]]


def test_an_editors_file_is_found_and_a_missing_one_is_named(tmp_path: Path, mcp: Any) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"docs": {"url": "http://127.0.0.1:9/${PART}"}}}')
    code, said = mcp("import", "--from", "cursor")
    assert code == 1 and "docs: not added" in said
    for words, expected in (
        (("--from", "zed"), ".config/zed/settings.json"),
        (("--from", "ed"), "'ed' is not known"),
        ((), "Name a file"),
        (("missing.json",), "cannot be read"),
    ):
        code, said = mcp("import", *words)
        assert code == 2 and expected in said
