"""Attempts to read key files unasked: by searches, which leave them out, and by commands whose words do not say what they read."""

from pathlib import Path
from typing import Any  # a test's own words

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.domain.path_class import is_key_file, looks_secret
from anycowork.permissions.command_risk import may_reach_secrets
from anycowork.permissions.shell.parser import parse
from support.attempts import Attempts
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

SECRET = "hunter2"
FILES = {
    ".env": f"PASSWORD={SECRET}\n",
    ".ssh/config": f"Host {SECRET}\n",
    "deploy/Server.PEM": f"{SECRET}\n",
    "deploy/prod.key.py": "def hunter2x(): pass\n",
    "src/app.py": "def hunted():\n    pass\n",
}
KEY_FILES = (".env", ".ssh/config", "deploy/Server.PEM")
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("grep", {"pattern": "hunte[dr]"}),
    ("grep", {"pattern": "hunte[dr]", "glob": ".env"}),
    ("grep", {"pattern": "hunte[dr]", "glob": "*"}),
    ("grep", {"pattern": "hunte[dr]", "path": ".ssh"}),
    ("grep", {"pattern": "PASSWORD", "context": 5}),
    ("grep", {"pattern": "Host", "path": ".ssh", "glob": "config"}),
    ("search_code", {"query": "PASSWORD Host"}),
    ("search_code", {"query": "Host", "path": ".ssh"}),
    ("search_symbol", {"name": "PASSWORD"}),
]


async def told(tmp_path: Path, tool: str, parameters: dict[str, Any], *rules: dict[str, str]) -> dict[str, Any]:
    """The result of a planner's call that nobody was asked for."""
    tmp_path.mkdir(exist_ok=True)
    async with live_server(tmp_path, replies=[call(tool, **parameters), "Done."], files=FILES) as client:
        for rule in rules:
            await client.ask("POST", "/rules", {"effect": "allow", "scope": "global", **rule}, expect=201)
        chat = await client.chat(role="planner")
        assert (await chat.send("look around"))["state"] == "idle"
        return (await chat.of_type("tool_result"))[0]


@proves("APR-3")
async def test_search_leaves_key_files_out_and_says_so(tmp_path: Path, attempts: Attempts) -> None:
    async with live_server(tmp_path, files=FILES) as client:

        async def attempt(case: str) -> None:
            tool, parameters = cases[case]
            client.model.replies[:] = [call(tool, **parameters), "Done."]
            chat = await client.chat(role="planner")
            assert (await chat.send("look around"))["state"] == "idle"
            result = (await chat.of_type("tool_result"))[0]
            assert SECRET not in str(result).replace("hunter2x", "")
            assert "Not searched" in result["content"]
            assert any(path in result["content"] for path in KEY_FILES)

        cases = {f"{tool} {parameters}": (tool, parameters) for tool, parameters in SEARCHES}
        await attempts.each(cases, attempt)


async def test_result_names_and_counts_what_was_left_out_whether_it_matches_or_not(tmp_path: Path) -> None:
    for number, pattern in enumerate(("hunte[dr]", "nothing like it", "PASSWORD=hunter2")):
        result = await told(tmp_path / str(number), "grep", {"pattern": pattern})
        assert "(3 files)" in result["content"] and all(path in result["content"] for path in KEY_FILES)
    plain = await told(tmp_path / "py", "grep", {"pattern": "hunt", "glob": "*.py"})
    assert "Not searched" not in plain["content"]


async def test_rule_that_names_a_key_file_lets_it_be_searched(tmp_path: Path) -> None:
    named = await told(tmp_path, "grep", {"pattern": "hunter2"}, {"tool": "read_file", "resource": "/.env"})
    assert f"PASSWORD={SECRET}" in named["content"] and "(2 files)" in named["content"]


@pytest.mark.parametrize("tool", ["grep", "read_file", "*"])
async def test_rule_that_names_no_key_file_does_not(tmp_path: Path, tool: str) -> None:
    result = await told(tmp_path, "grep", {"pattern": "hunte[dr]"}, {"tool": tool, "resource": "*"})
    assert SECRET not in str(result).replace("hunter2x", "") and "(3 files)" in result["content"]


@proves("APR-3/8")
@pytest.mark.parametrize("tool", ["read_file", "grep"])
async def test_key_file_asks_although_a_rule_allows_its_folder_and_always_names_it_alone(
    tmp_path: Path, tool: str
) -> None:
    parameters = {"path": ".env", **({"pattern": "P"} if tool == "grep" else {})}
    async with live_server(tmp_path, replies=[call(tool, **parameters), "Done."], files=FILES) as client:
        rule = {"tool": tool, "resource": "/*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat(role="planner")
        await chat.send("read it")
        (approval,) = await chat.approvals()
        assert approval["risk"] == "high" and approval["proposed_rule"]["resource"] == "/.env"
        await chat.decide("allow_always")
        assert SECRET in (await chat.of_type("tool_result"))[0]["content"]


# --- commands with `ask = "at_commit"`

COMMANDS = [
    "cat .en?",
    'f=.env; cat "$f"',
    "cat $(echo .e)nv",
    "find . -name '.e*' -exec cat {} +",
    "ls -A | xargs cat",
]


@proves("APR-3")
async def test_command_that_may_name_a_key_file_asks_before_it_runs(tmp_path: Path, attempts: Attempts) -> None:
    async with live_server(tmp_path, files=FILES, ask="at_commit") as client:

        async def attempt(command: str) -> None:
            client.model.replies[:] = [call("execute_command", command=command), "Done."]
            chat = await client.chat()
            assert (await chat.send("run it"))["state"] == "awaiting_approval"
            assert (await chat.approvals())[0]["held"] is False and SECRET not in str(await chat.messages())

        await attempts.each(COMMANDS, attempt)


SPELLINGS = st.sampled_from(
    [
        ".env",
        "'.env'",
        '".env"',
        ".e''nv",
        ".\\env",
        "./.env",
        ".en?",
        ".e*",
        ".[e]nv",
        ".{env,x}",
        "$F",
        "${F}",
        "`f`",
        "$(f)",
        "~/.env",
        ".ssh/*",
        ".ss?/config",
        "deploy/*",
        "deploy/Server.P*",
        "k.pem",
        "*",
        "$PWD/.env",
        "src/../.env",
    ]
)
READERS = st.sampled_from(
    [
        "cat {}",
        "head -5 {}",
        "grep x {}",
        "cat < {}",
        "find . -name x -exec cat {} +",
        "echo {} | xargs cat",
        "sh -c 'cat {}'",
        "timeout 5 cat {}",
        "for f in {}; do cat $f; done",
        "true && cat {}",
        "cat a.txt {}",
        "tail -n +1 {}",
        "cp {} out.txt",
    ]
)


@settings(max_examples=300, deadline=None)
@given(reader=READERS, spelling=SPELLINGS)
def test_no_spelling_of_a_key_file_is_taken_for_another_file(reader: str, spelling: str) -> None:
    assert may_reach_secrets(parse(reader.replace("{}", spelling, 1)))


def test_files_of_environments_are_key_files_under_every_usual_name() -> None:
    held = (".env", ".env.local", "conf/prod.env", "PROD.ENV", "app.env.production", "deploy/staging.env", "x.env.bak")
    shown = (
        ".env.example",
        "sample.env",
        ".env.production.example",
        "template.env",
        "process.env.ts",
        "env",
        "vite-env.d.ts",
        "b.envelope",
    )
    assert [path for path in held if not is_key_file(path)] == []
    assert [path for path in shown if is_key_file(path)] == []
    assert all(map(looks_secret, held)), "what asks before reading asks before changing"
