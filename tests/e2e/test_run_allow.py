"""`anycowork run --allow sandboxed` as CI uses it: a real small project, a scripted model, nobody to ask, no network, everything undoable."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any  # events and answers are JSON that the test looks into

import pytest

from support.cli_process import CommandLine
from support.scripted_model import ScriptedModel, call
from support.spec import proves

BROKEN = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
TESTS = (
    "import unittest\n\nfrom calc import add\n\n\nclass AddTest(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
)
MAKEFILE = "test:\n\tpython3 -m unittest -q\n"
FETCH = "import socket\n\nsocket.create_connection(('127.0.0.1', {port}), timeout=3)\nprint('connected')\n"


@pytest.fixture
def cli(tmp_path: Path, models: ScriptedModel) -> CommandLine:
    models.replies.clear()
    return CommandLine(tmp_path, models.base_url)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A service of this machine that a command could reach if it had the network."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@proves("APR-9", "CLI-1")
def test_tests_are_made_to_pass_without_asking_and_all_of_it_is_undone(
    cli: CommandLine, models: ScriptedModel, listener: socket.socket
) -> None:
    port = listener.getsockname()[1]
    project = {"calc.py": BROKEN, "test_calc.py": TESTS, "Makefile": MAKEFILE, "fetch.py": FETCH.format(port=port)}
    for name, text in project.items():
        (cli.workspace / name).write_text(text)
    models.replies += [
        call("execute_command", command="make test"),
        call("read_file", path="calc.py"),
        call("update_file", path="calc.py", edits=[{"find": "a - b", "replace": "a + b"}]),
        call("execute_command", command="python3 fetch.py"),
        call("execute_command", command="make test"),
        "The tests pass.",
    ]
    done = cli.type("run", "--allow", "sandboxed", "make the tests pass", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, events[-1]["text"]) == (0, "The tests pass."), done.stderr
    assert "permission-request" not in [event["type"] for event in events], "nobody was asked"

    results = [event["tool_result"] for event in events if event["type"] == "tool-result"]
    check_before, first, read, edit, fetch, last, own_check = results
    assert check_before["status"] == "error", "the project's own check, run once before the first change"
    assert (first["status"], read["status"], edit["status"], last["status"]) == ("error", "ok", "ok", "ok")
    assert edit["facts"]["allowed_by"] == last["facts"]["allowed_by"] == "autonomy:sandboxed"
    assert fetch["status"] == "error", "no network"
    facts = own_check["facts"]  # the project's own check, run before the turn ends
    assert (facts["allowed_by"], facts["layer"], facts["files"]) == ("autonomy:sandboxed", "overlay", []), (
        "it keeps nothing"
    )
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert (cli.workspace / "calc.py").read_text() == FIXED
    undo(cli, events[-1]["context_id"], project)


def undo(cli: CommandLine, chat_id: str, project: dict[str, str]) -> None:
    """Back to before the first change: the folder is as it was."""
    with cli.serving() as server:
        assert server.get(f"/context/{chat_id}")["config"]["autonomy"] == "sandboxed"
        found: list[dict[str, Any]] = server.get(f"/context/{chat_id}/snapshots")["snapshots"]
        before = next(one for one in found if one["moment"] == "before")
        server.post(f"/context/{chat_id}/snapshots/{before['id']}/restore", {})
    assert {name: (cli.workspace / name).read_text() for name in project} == project
    left = {path.name for path in cli.workspace.iterdir() if not path.name.startswith(".")}
    assert left == set(project), "what the commands left behind is gone too"


@proves("APR-9", "CLI-1")
def test_a_run_that_may_edit_still_parks_before_a_command(cli: CommandLine, models: ScriptedModel) -> None:
    models.replies += [call("create_file", path="a.txt", content="a"), call("execute_command", command="touch b.txt")]
    done = cli.type("run", "--allow", "edits", "make both", "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["status"]) == (3, "parked")
    assert (cli.workspace / "a.txt").read_text() == "a" and not (cli.workspace / "b.txt").exists()
    assert [one["tool"] for one in result["waiting_for"]] == ["execute_command"]
