"""Errors of language servers that come with an edit: real servers, and a scripted one that calls each line with `wrong` in it an error."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.journal import AddFileOrigins, Change
from anycowork.domain.roles import Permission
from anycowork.tools.language import language_server, language_servers
from anycowork.tools.language.diagnostics import NewErrors, counted_keys, new_errors, read_errors
from anycowork.tools.language.protocol import changed_lines
from support.language_bench import PLAIN, diagnosing, install, messages, own_ruff, running
from support.live_server import live_server
from support.sandboxes import until
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import EVERYTHING, ToolWorkspace

SLOW = """
start()
while True:
    message = receive()
    if message["method"] in ("textDocument/didOpen", "textDocument/didChange"):
        while not os.path.exists("go-on"):
            time.sleep(0.01)
        publish(message, [error(0, "It came late")])
"""


@proves("TOOL-7/1")
async def test_an_edit_brings_the_errors_that_a_real_server_finds(bench: ToolWorkspace) -> None:
    install(bench.root, "ruff", source=own_ruff())
    bench.write("a.py", "print(old_error)\n")
    async with diagnosing(bench) as servers:
        made = await bench.call("create_file", path="new.py", content="import os\n\nprint(os, missing)\n")
        assert "The language server ruff reports a new error" in made.content
        assert "- line 3: Undefined name `missing` (F821)" in made.content
        assert made.facts["diagnostics"]["errors"][0]["path"] == "new.py"  # type: ignore[index, call-overload]
        changed = await bench.call(
            "update_file", path="a.py", edits=[{"find": "print", "replace": "\nnothing()\nprint"}]
        )
        assert messages(changed) == ["Undefined name `nothing` (F821)"]  # what was wrong before is no news
        fixed = await bench.call("update_file", path="a.py", edits=[{"find": "nothing()\n", "replace": ""}])
        assert messages(fixed) == [] and "language server" not in fixed.content
        assert len(running(servers)) == 1


@proves("TOOL-7/1")
async def test_only_errors_are_told_and_what_another_edit_changed_meanwhile_is_no_news(bench: ToolWorkspace) -> None:
    install(
        bench.root,
        "pylsp",
        """
start()
while True:
    message = receive()
    if message["method"] in ("textDocument/didOpen", "textDocument/didChange"):
        found = [error(row, f"At {line.strip()}") for row, line in enumerate(text_of(message).split("\\n")) if "wrong" in line]
        hints = [error(0, f"Severity {level}", severity=level) for level in (2, 3, 4, "1", None)]
        publish(message, [*hints, *found])
""",
    )
    async with diagnosing(bench):
        made = await bench.call("create_file", path="a.py", content="x = 1\nwrong_one = 1\n")
        assert messages(made) == ["At wrong_one = 1"]
        bench.write("a.py", "wrong_two = 2\nx = 1\nwrong_one = 1\n")  # by the person, in an editor
        edit = [{"find": "x = 1", "replace": "x = 1\nwrong_three = 3"}]
        assert messages(await bench.call("update_file", path="a.py", edits=edit)) == ["At wrong_three = 3"]


@proves("TOOL-7/1")
async def test_what_a_server_says_of_an_older_text_is_dropped(bench: ToolWorkspace) -> None:
    install(
        bench.root,
        "pylsp",
        """
start()
while True:
    message = receive()
    document = message["params"]["textDocument"]
    for version in (document["version"] - 1, document["version"], document["version"] - 1):
        told = [error(0, f"Of version {version}")]
        send({"method": "textDocument/publishDiagnostics", "params": {**document, "version": version, "diagnostics": told}})
""",
    )
    async with diagnosing(bench):
        assert messages(await bench.call("create_file", path="a.py", content="x = 1\n")) == ["Of version 1"]
        edit = [{"find": "1", "replace": "2"}]
        assert messages(await bench.call("update_file", path="a.py", edits=edit)) == ["Of version 2"]


@proves("TOOL-7/1")
async def test_errors_that_come_too_late_come_with_the_next_edit(bench: ToolWorkspace) -> None:
    install(bench.root, "pylsp", SLOW)
    seconds = 0.05
    async with diagnosing(bench, lambda: seconds):
        first = await bench.call("create_file", path="a.py", content="x = 1\n")
        assert messages(first) == []
        bench.write("go-on")
        seconds = 60.0
        second = await bench.call("create_file", path="b.py", content="y = 1\n")
        assert messages(second) == ["It came late"] * 2
        assert "- a.py, line 1: It came late" in second.content


@proves("TOOL-7/1")
async def test_an_edit_says_that_its_server_is_still_starting_and_the_next_result_brings_the_errors_once(
    tmp_path: Path,
) -> None:
    edits = [call("create_file", path=path, content="x = 1\n") for path in ("a.py", "go-on", "b.md", "c.md")]
    async with live_server(tmp_path, replies=[*edits, "Done."], diagnostics_seconds=0.05) as client:
        install(client.workspace, "pylsp", SLOW)
        chat = await client.chat()
        await chat.send("write it")
        await chat.decide()
        await chat.decide()
        servers = client.server.language_servers
        assert servers is not None
        await until(lambda: all(server.pending() is None for server in running(servers)))
        await chat.decide()
        await chat.decide()
        first, second, third, fourth = await chat.of_type("tool_result")
        assert first["content"].endswith(
            "The language server pylsp is still starting; errors that it finds come with a later result."
        )
        assert first["payload"]["facts"]["diagnostics_pending"] == {"server": "pylsp", "is_starting": True}
        assert [message["content"].count("- a.py, line 1: It came late") for message in (second, third, fourth)] == [
            0,
            1,
            0,
        ]


@proves("TOOL-7/2")
async def test_late_errors_come_to_no_role_that_shares_not_the_server(bench: ToolWorkspace) -> None:
    install(bench.root, "pylsp", SLOW)
    narrower = bench.tool_context(permissions=EVERYTHING - {Permission.EXECUTE_COMMANDS}, turn_id="1")
    async with diagnosing(bench, lambda: 0.05) as servers:
        for turn_id in ("1", "2"):
            await bench.call("create_file", bench.tool_context(turn_id=turn_id), path=f"{turn_id}.py", content="x\n")
        bench.write("go-on")
        await until(lambda: all(server.pending() is None for server in running(servers)))
        assert servers.late_errors(bench.tool_context(turn_id="another")) is None
        assert servers.late_errors(narrower) is None
        errors = servers.late_errors(bench.tool_context(turn_id="2"))
        assert errors is not None and [*errors.by_path] == ["1.py", "2.py"]


@proves("TOOL-7/1")
async def test_other_files_and_a_switched_off_server_cost_nothing(bench: ToolWorkspace) -> None:
    install(bench.root, "pylsp", PLAIN)
    seconds = 60.0
    async with diagnosing(bench, lambda: seconds) as servers:
        await bench.call("create_file", path="a.md", content="wrong\n")
        await bench.call("create_file", path="large.py", content="wrong = 1\n" * 60_000)
        assert running(servers) == []
        seconds = 0.0
        made = await bench.call("create_file", path="a.py", content="wrong = 1\n")
        assert messages(made) == [] and running(servers) == []


@proves("TOOL-7/2")
async def test_a_program_of_the_project_runs_only_for_roles_that_may_run_commands(bench: ToolWorkspace) -> None:
    install(bench.root, "pylsp", PLAIN)
    without = bench.tool_context(permissions=EVERYTHING - {Permission.EXECUTE_COMMANDS})
    async with diagnosing(bench) as servers:
        made = await bench.call("create_file", without, path="a.py", content="wrong = 1\n")
        assert messages(made) == [] and not any(server.program.in_workspace for server in running(servers))
        made = await bench.call("create_file", path="b.py", content="wrong = 1\n")
        assert messages(made) == ["It says wrong = 1"]
        made = await bench.call("create_file", without, path="c.py", content="wrong = 1\n")
        assert messages(made) == [], "nor is the one used that another role started"


@proves("TOOL-7/3")
async def test_an_unused_server_ends_and_starts_again(bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    install(bench.root, "pylsp", PLAIN)
    monkeypatch.setattr(language_server, "IDLE_SECONDS", 0.05)
    async with diagnosing(bench) as servers:
        for name in ("a.py", "b.py"):
            made = await bench.call("create_file", path=name, content="wrong = 1\n")
            assert messages(made) == ["It says wrong = 1"]
            (server,) = servers._servers.values()
            await server.ended.wait()
            assert not server.failed


@proves("TOOL-7/3")
async def test_only_few_servers_run_at_once(bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_servers, "MOST_SERVERS", 1)
    install(bench.root, "pylsp", PLAIN)
    install(bench.root, "gopls", PLAIN)
    async with diagnosing(bench) as servers:
        await bench.call("create_file", path="a.py", content="wrong = 1\n")
        (first,) = running(servers)
        made = await bench.call("create_file", path="a.go", content="wrong = 1\n")
        assert messages(made) == ["It says wrong = 1"]
        await first.ended.wait()
        assert [server.program.name for server in running(servers)] == ["gopls"]


@proves("TOOL-7/1", "TOOL-7/2")
async def test_the_model_reads_the_errors_and_they_count_as_words_of_every_file_there(tmp_path: Path) -> None:
    """The server sees the whole workspace, so what it says may come from any file of it."""
    edits = [
        call("create_file", path=f"{name}.py", content=text) for name, text in (("good", "x = 1\n"), ("bad", "y\n"))
    ]
    async with live_server(tmp_path, replies=[*edits, "Done."], diagnostics_seconds=60.0) as client:
        install(client.workspace, "ruff", source=own_ruff())
        chat = await client.chat()
        web = AddFileOrigins(str(client.workspace), ("notes.md",), frozenset({"web:docs.example"}))
        await client.server.database.journal.write(Change(chat.id, (web,)))
        assert (await chat.send("write it"))["state"] == "awaiting_approval"
        await chat.decide()
        assert (await chat.decide())["state"] == "idle"
        good, bad = await chat.of_type("tool_result")
        assert "web:docs.example" not in good["origins"] and "language server" not in good["content"]
        assert "- line 1: Undefined name `y` (F821)" in bad["content"] and "web:docs.example" in bad["origins"]


def test_errors_are_read_leniently_and_compared_by_their_line() -> None:
    text = "a\nb\nc\n"
    items = [
        {"range": {"start": {"line": 1}}, "message": "bad"},
        {"range": {"start": {"line": 2}}, "severity": 2, "message": "a warning"},
        {"range": {"start": {"line": "x"}}, "message": 3, "code": {"odd": 1}},
        "no diagnostic",
        {"range": {"start": {"line": 10**9}}, "message": "far away", "code": 7},
    ]
    errors = read_errors(items, text.split("\n"))  # type: ignore[arg-type]
    assert [(error.line, error.message, error.source_line) for error in errors] == [
        (2, "bad", "b"),
        (1, "an error without a message", "a"),
        (1, "far away (7)", "a"),
    ]
    moved = read_errors([{"range": {"start": {"line": 3}}, "message": "bad"}] * 2, ["", "", "a", "b", ""])  # type: ignore[list-item]
    assert [error.line for error in new_errors(moved, counted_keys(errors))] == [4]
    assert read_errors({"not": "a list"}, []) == ()
    many = NewErrors("x", {"a.py": errors * 10, "b.py": errors})
    assert many.as_text("a.py").endswith("- and 23 more") and len(many.as_text("a.py").splitlines()) == 12


@proves("TOOL-7/1")
@given(*[st.text("ab\n\r", max_size=12)] * 2)
def test_a_server_that_is_sent_the_changed_lines_alone_has_the_text_after(before: str, after: str) -> None:
    if (changed := changed_lines(before, after)) is None:
        whole_lines = before.endswith("\n") and after.endswith("\n")
        assert "\r" in before + after or not whole_lines
        return
    lines = before.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:row]) for row in (changed.first, changed.last)]
    assert before[: starts[0]] + changed.text + before[starts[1] :] == after
    changed.apply(lines)
    assert lines == after.split("\n")
