"""Files of editors and agents that name MCP servers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid
from anycowork.domain.mcp_servers import (
    FoundServer,
    McpServerConfig,
    server_name,
    servers_in,
    with_values,
    without_comments,
)

ZED = """{
  // comments, "quotes" and trailing commas
  "theme": "One // not a comment",
  "context_servers": {
    "Old One": { "command": { "path": "old", "args": ["-x"], "env": { "A": "1" } } },
    "new": { "command": "new", "args": ["--y"], }, /* and
    here */
  },
}"""
VSCODE = '{"servers": {"github": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${input:t}"}}}}'
CODEX = '[mcp_servers.docs]\ncommand = "docs"\nargs = ["--stdio"]\n'
OPENCODE = '{"mcp": {"fs": {"type": "local", "command": ["npx", "fs"], "environment": {"B": "2"}, "enabled": false}}}'


def test_each_programs_way_of_writing_is_read() -> None:
    old, new = servers_in(ZED)
    assert old.config == {"name": "old-one", "command": "old", "args": ["-x"], "env": {"A": "1"}}
    assert new.config == {"name": "new", "command": "new", "args": ["--y"], "env": {}}
    (github,) = servers_in(VSCODE)
    assert github.variables == ("input:t",) and github.config["transport"] == "http"
    filled = with_values(github, {"input:t": "key"})
    assert filled["headers"] == {"Authorization": "Bearer key"}
    (docs,) = servers_in(CODEX, is_toml=True)
    assert docs.config["command"] == "docs"
    (fs,) = servers_in(OPENCODE)
    assert fs.config == {"name": "fs", "command": "npx", "args": ["fs"], "env": {"B": "2"}, "enabled": False}
    for found in (old, new, docs, fs, FoundServer("github", filled)):
        McpServerConfig.model_validate(found.config)


@pytest.mark.parametrize("text", ["", "[]", "{}", "nothing", '{"mcpServers": []}', "[" * 100_000, "x" * 1_000_001])
def test_what_is_no_such_file_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        servers_in(text)


def test_entries_that_mean_nothing_are_named() -> None:
    found = servers_in('{"mcpServers": {"a": 1, "b": {}, "??": {"command": "x"}, "c": {"command": [1]}}}')
    assert all(one.problem for one in found) and len(found) == 4


@given(st.lists(st.text(alphabet='a"\\\\/*,]} \n'), max_size=4))
def test_plain_json_stays_what_it_is(value: object) -> None:
    assert json.loads(without_comments(json.dumps({"k": value}))) == {"k": value}


@given(st.text())
def test_any_text_is_taken_and_keeps_its_length(text: str) -> None:
    assert len(without_comments(text)) == len(text)


@given(st.text(max_size=50))
def test_a_name_fits_or_is_empty(given_name: str) -> None:
    name = server_name(given_name)
    if name:
        McpServerConfig(name=name, command="x")
