"""Attempts to learn what a rule denies reading, by the tools that look through whole folders."""

from pathlib import Path
from typing import Any  # a test's own words

import pytest

from anycowork.tools.ripgrep import globs_below
from anycowork.workspace.paths import WorkspacePath
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

SECRET = "hunter2"
FILES = {
    "secrets/deep/password.py": f"def password():\n    return '{SECRET}'\n",
    "secrets/readme.md": f"It is {SECRET}.\n",
    "src/app.py": "def open_app():\n    pass\n",
    "src/local.key": f"{SECRET}\n",
    "src/[odd]/x.py": f"ODD = '{SECRET}'\n",
    "src/o/x.py": "PLAIN = 'hunted'\n",
}
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("grep", {"pattern": "hunte[dr]"}),
    ("grep", {"pattern": "hunte[dr]", "glob": "*"}),
    ("grep", {"pattern": "hunte[dr]", "glob": "secrets/**"}),
    ("grep", {"pattern": "hunte[dr]", "path": "secrets"}),
    ("grep", {"pattern": "hunte[dr]", "path": "secrets/deep"}),
    ("grep", {"pattern": "hunte[dr]", "path": "secrets/readme.md"}),
    ("grep", {"pattern": "open_app", "context": 20}),
    ("search_code", {"query": f"password {SECRET}"}),
    ("search_code", {"query": SECRET, "path": "src"}),
    ("search_symbol", {"name": "password"}),
    ("list_directory", {"path": ".", "depth": 5}),
    ("list_directory", {"path": "secrets", "include_ignored": True}),
]
HIDDEN = (SECRET, "password.py", "readme.md", "local.key", "[odd]/x.py")
DENIED = ["/secrets/**", "/secrets/", "**/*.key", "/src/[odd]/**", "/src/local.key"]


def rule(resource: str, tool: str = "read_file") -> dict[str, str]:
    return {"tool": tool, "resource": resource, "effect": "deny", "scope": "global"}


async def told(tmp_path: Path, tool: str, parameters: dict[str, Any], *, denied: list[str]) -> str:
    """What the model is told, in the result and in its facts."""
    async with live_server(tmp_path, replies=[call(tool, **parameters), "Done."], files=FILES) as client:
        for resource in denied:
            await client.ask("POST", "/rules", rule(resource), expect=201)
        chat = await client.chat(role="planner")
        await chat.send("look around")
        if await chat.approvals():
            await chat.decide()
        return str([message for message in await chat.messages() if message["message_type"] == "tool_result"])


@proves("APR-2")
@pytest.mark.parametrize(("tool", "parameters"), SEARCHES)
async def test_what_may_not_be_read_is_neither_searched_nor_listed(
    tmp_path: Path, tool: str, parameters: dict[str, Any]
) -> None:
    found = await told(tmp_path, tool, parameters, denied=DENIED)
    named = str(parameters)  # what the model asked for, it knows
    assert [hidden for hidden in HIDDEN if hidden in found and hidden not in named] == []


async def test_what_no_rule_names_is_found_as_before(tmp_path: Path) -> None:
    found = await told(tmp_path, "grep", {"pattern": "hunte[dr]|open_app"}, denied=["/secrets/**", "/src/*"])
    assert "src/o/x.py:1: PLAIN" in found and "src/[odd]/x.py" in found, "'/src/*' is what lies in src itself"
    assert "open_app" not in found.replace("hunte[dr]|open_app", "") and "secrets" not in found


async def test_a_search_of_a_file_that_may_not_be_read_is_denied(tmp_path: Path) -> None:
    found = await told(tmp_path, "grep", {"pattern": "x", "path": "secrets/readme.md"}, denied=["/secrets/**"])
    assert "denied_by_rule" in found and "the agent may never read /secrets/**" in found


@pytest.mark.parametrize(
    ("pattern", "place", "globs"),
    [
        ("/secrets/**", "", ["/secrets/**"]),
        ("/secrets/", "", ["/secrets/**"]),
        ("/a/b/**", "a", ["/b/**"]),
        ("/a/b/**", "a/b", ["/**"]),
        ("/a/b/**", "c", []),
        ("**/private/**", "a", ["**/private/**"]),
        ("/a[1]{b}/**", "", [r"/a\[1\]\{b\}/**"]),
        ("/src/*", "", []),
        ("**/*.key", "", []),
        ("*", "", []),
    ],
)
def test_patterns_of_whole_folders_narrow_the_search_itself(pattern: str, place: str, globs: list[str]) -> None:
    assert globs_below(pattern, WorkspacePath(tuple(place.split("/")) if place else ())) == globs
