"""`anycowork mcp add | list | test | remove | import` against a server of its own, as a person types them."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from anycowork.cli.mcp_commands import app
from support.raw_mcp_server import raw_server
from support.spec import proves


@pytest.fixture
def mcp(type_command: Callable[..., tuple[int, str]]) -> Any:
    return partial(type_command, app)


def typed(mcp: Any, expected: int, *words: str) -> str:
    """What the command printed, which is also what a failure shows."""
    code, said = mcp(*words)
    assert code == expected, f"`mcp {' '.join(words)}` ended with {code}, not {expected}; it printed:\n{said}"
    return str(said)


def stored(tmp_path: Path) -> list[dict[str, Any]]:
    found = list((tmp_path / "data").glob("mcp-servers.json"))
    return json.loads(found[0].read_text()) if found else []


def test_a_server_is_added_tested_listed_and_removed(tmp_path: Path, mcp: Any) -> None:
    config = raw_server(tmp_path / "far")
    said = typed(mcp, 0, "add", "raw", "--read-only", "add", "--", config["command"], *config["args"])
    assert "raw: ready" in said and "raw__add, read-only: Add two numbers." in said and "was added, but" not in said
    typed(mcp, 1, "add", "raw", "--url", "http://127.0.0.1:9/mcp")
    typed(mcp, 2, "add", "Bad Name", "x")
    assert "Name its program and arguments, or its address with --url" in typed(mcp, 2, "add", "nothing")
    typed(mcp, 2, "add", "other", "--env", "NOT_SET_ANYWHERE", "--", "x")
    said = typed(mcp, 1, "add", "gone", "no-such-program-here")
    assert "gone: failed" in said and "no-such-program-here" in said
    assert "gone was added, but its test failed" in said
    assert "`anycowork mcp test gone`" in said and "`anycowork mcp remove gone`" in said
    said = typed(mcp, 0, "list")
    assert "raw:" in said and "gone:" in said
    typed(mcp, 0, "test", "raw")
    typed(mcp, 2, "test", "nobody")
    typed(mcp, 0, "remove", "raw")
    typed(mcp, 2, "remove", "raw")
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
