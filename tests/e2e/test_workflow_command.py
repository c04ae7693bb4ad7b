"""`anycowork workflow` as people type it: real processes, a real server, a scripted model."""

import json
from pathlib import Path

import pytest

from support.cli_process import CommandLine, ServeProcess
from support.scripted_model import ScriptedModel
from support.spec import proves
from support.workflows import supplied


@pytest.fixture
def cli(shared: tuple[CommandLine, ServeProcess], models: ScriptedModel) -> CommandLine:
    """Its server runs; each command attaches to it."""
    models.replies.clear()
    return shared[0]


@proves("WFL-1")
def test_list_shows_each_by_category_with_how_to_type_it(cli: CommandLine) -> None:
    done = cli.type("workflow", "list")
    assert done.returncode == 0
    assert "understand\n  compact_chat " in done.stdout and "\n  explain_code " in done.stdout
    assert "/explain_code path=<path> [depth=brief|thorough]" in done.stdout


@proves("WFL-1")
def test_show_says_what_one_does_and_takes(cli: CommandLine) -> None:
    done = cli.type("workflow", "show", "explain_code")
    assert done.returncode == 0 and done.stdout.startswith("explain_code: Explain a file or a folder in plain words.\n")
    assert "  path           path (required) the file or folder to explain\n" in done.stdout
    assert "brief|thorough (default: " in done.stdout and "  1. Explain " in done.stdout
    assert "Needs: read_files. From: builtin/explain_code.md\n" in done.stdout
    assert json.loads(cli.type("workflow", "show", "/explain_code", "--json").stdout)["name"] == "explain_code"
    unknown = cli.type("workflow", "show", "explain_cod")
    assert (unknown.returncode, unknown.stdout) == (2, "") and "explain_code" in unknown.stderr


def test_list_tells_what_is_not_trusted_and_what_is_left_out(cli: CommandLine) -> None:
    supplied(cli.workspace, theirs='+++\ndescription = "Theirs."\n+++\n## Go\nGo.\n', broken="---\n---\n")
    done = cli.type("workflow", "list")
    assert "theirs" in done.stdout and "not trusted yet" in done.stdout
    assert "left out: .anycowork/workflows/broken.md:1:" in done.stderr
    found = json.loads(cli.type("workflow", "list", "--json").stdout)
    assert {one["name"]: one["trusted"] for one in found["workflows"]}["theirs"] is False
    refused = cli.type("workflow", "run", "theirs")
    assert refused.returncode == 1 and "nobody has trusted" in refused.stderr


@proves("WFL-2", "CLI-1")
def test_run_gives_the_answer_on_stdout_and_the_steps_on_stderr(cli: CommandLine, models: ScriptedModel) -> None:
    models.replies += ["It is a letter."]
    done = cli.type("workflow", "run", "explain_code", "path=my notes.txt", "question=what is it?")
    assert (done.returncode, done.stdout) == (0, "It is a letter.\n")
    assert "explain_code, step 1 of 1: Explain my notes.txt" in done.stderr
    assert "Explain `my notes.txt`" in models.requests[-1]["messages"][-1]["content"]


@proves("CLI-1")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["explain_cod", "path=a"], 2, "Did you mean 'explain_code'"),
        (["explain_code"], 2, "'path' is missing"),
        (["explain_code", "path=a", "depth=deep"], 2, "'depth' must be one of brief, thorough"),
        (["create_project", "name=x", "--role", "planner"], 1, "Switch to Actor"),
    ],
)
def test_what_cannot_be_run_says_why_with_its_exit_code(
    cli: CommandLine, words: list[str], code: int, told: str
) -> None:
    done = cli.type("workflow", "run", *words)
    assert done.returncode == code and told in done.stderr


@proves("CLI-1")
def test_a_step_that_asks_leaves_the_run_parked(cli: CommandLine) -> None:
    done = cli.type("workflow", "run", "create_project", "name=parked", "--json")
    assert done.returncode == 3
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert "workflow-progress" in {line["type"] for line in lines}
    assert lines[-1]["waiting_for"][0]["tool"] == "create_file" and not (cli.workspace / "parked").exists()


@proves("WFL-3")
def test_new_writes_a_file_that_runs_and_never_overwrites(cli: CommandLine, models: ScriptedModel) -> None:
    made = cli.type("workflow", "new", "my_own")
    path = Path(made.stdout.strip())
    assert made.returncode == 0 and path == cli.data / "workflows" / "my_own.md"
    models.replies += ["A file."]
    assert cli.type("workflow", "run", "my_own", "path=a.txt").stdout == "A file.\n"
    again = cli.type("workflow", "new", "my_own")
    assert again.returncode == 2 and "not overwritten" in again.stderr
    for name, told in (("explain_code", "built in"), ("../x", "is not a valid name"), ("categories", "reserved")):
        refused = cli.type("workflow", "new", name)
        assert refused.returncode == 2 and told in refused.stderr


def test_without_a_server_a_command_brings_its_own(tmp_path: Path, models: ScriptedModel) -> None:
    alone = CommandLine(tmp_path, models.base_url)
    done = alone.type("workflow", "list", "--json")
    assert done.returncode == 0 and len(json.loads(done.stdout)["workflows"]) == 8
