"""The command line as it is typed: real processes, their output and their exit codes."""

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import anycowork
from anycowork.cli.main import app
from anycowork.server.data_folder import lock_data_folder
from support.distributions import install
from support.forked_command import ForkedCommand
from support.spec import proves

SOURCE = Path(anycowork.__file__).parents[1]
SECRET = "sk-very-secret-key"


def anycowork_cli(
    *words: str, cwd: Path, environ: dict[str, str] | None = None, **streams: object
) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANYCOWORK_", "OPENAI_", "ANTHROPIC_"))
    }
    ours = {"PYTHONPATH": str(SOURCE), "ANYCOWORK_DATA_DIR": str(cwd / "data"), **(environ or {})}
    if environ or streams:  # they change what an interpreter does as it starts
        command, start = [sys.executable, "-m", "anycowork.cli.main", *words], subprocess.Popen
    else:
        command, start = list(words), ForkedCommand
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    with start(command, cwd=cwd, env={**inherited, **ours}, text=True, **pipes) as process:
        try:
            stdout, stderr = process.communicate(timeout=60)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def test_help_names_every_command_and_gives_examples(tmp_path: Path) -> None:
    overview = anycowork_cli("--help", cwd=tmp_path)
    assert overview.returncode == 0
    assert overview.stdout == anycowork_cli("help", cwd=tmp_path).stdout
    assert "..." not in overview.stdout.partition("Commands:")[2], "no description of a command is cut off"
    for word in ("serve", "run", "workflow", "doctor", "version"):
        assert f"\n  {word} " in overview.stdout
        assert anycowork_cli(word, "--help", cwd=tmp_path).returncode == 0
    assert "--approved-plan plan.json" in anycowork_cli("run", "--help", cwd=tmp_path).stdout


def test_help_loads_none_of_the_heavy_libraries(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom anycowork.cli.main import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('pydantic', 'fastapi', 'aiohttp', 'rich.markdown', 'anycowork.app') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", [("version",), ("--version",)])
def test_the_version_is_said_in_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert anycowork_cli(*words, cwd=tmp_path).stdout == f"anycowork {anycowork.__version__}\n"


@proves("CLI-1")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run",), "Say what to do"),
        (("run", "  "), "Say what to do"),
        (("run", "-"), "standard input is empty"),
        (("run", "list", "the", "files"), "in quotes: anycowork run 'list the files'"),
        (("help", "no-such-command"), "no-such-command"),
        (("run", "x", "--no-such-flag"), "no-such-flag"),
        (("run", "x", "--timeout", "soon"), "--timeout"),
        (("run", "x", "--max-cost", "-1"), "max-cost"),
        (("run", "x", "--workspace", "missing"), "missing is not a folder"),
        (("run", "x", "--approved-plan", "missing.json"), "cannot be read"),
        (("run", "--approved-plan", "missing.json"), "cannot be read"),
        (("run", "--approved-plan", "broken.json"), "not JSON"),
        (("run", "--approved-plan", "other.json"), "no valid plan"),
        (("run", "--approved-plan", "plan.json", "--role", "planner"), "The actor executes an approved plan"),
        (("import", "missing.json"), "missing.json cannot be read (No such file or directory)."),
        (("import", "."), "cannot be read (Is a directory)."),
        (("import", "plan.json", "--workspace", "missing"), "missing is not a folder"),
        (("audit", "verify", "missing.jsonl"), "missing.jsonl cannot be read (No such file or directory)."),
        (("model", "pull", "mine", "--file", "missing.gguf"), "missing.gguf cannot be read"),
        (("mcp", "import", "missing.json"), "cannot be read"),
        (("serve", "--workspace", "missing"), "There is no folder"),
        (("workflow", "list", "--workspace", "missing"), "There is no folder"),
        (("instructions", "--workspace", "missing"), "There is no folder"),
        (("serve", "--data-dir", ""), "Was a variable not set?"),
        (("run", "x", "--workspace", " "), "Was a variable not set?"),
        (("serve", "--port", "99999"), "'port' (from --port)"),
        (("--port", "99999"), "'port' (from --port)"),
        (("serve", "--host", "0.0.0.0"), "--token"),
        (("no-such-command",), "no-such-command"),
    ],
)
def test_a_wrong_word_is_named_and_ends_with_code_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text('{"steps": 3}')
    (tmp_path / "plan.json").write_text('{"goal": "g", "steps": [{"action": "a"}]}')
    done = CliRunner().invoke(app, words, env={"ANYCOWORK_DATA_DIR": str(tmp_path / "data"), "ANYCOWORK_TOKEN": None})
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


@proves("CLI-3")
def test_doctor_says_what_is_there_and_how_to_get_the_rest(tmp_path: Path) -> None:
    done = anycowork_cli("doctor", "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    checks = {check["name"]: check for check in report["checks"]}
    assert (done.returncode, report["ok"]) == (0, True)
    assert {
        "Python",
        "SQLite",
        "data folder",
        "server",
        "Landlock",
        "bubblewrap",
        "ripgrep",
        "git",
        "Node",
    } <= checks.keys()
    assert report["sandbox"]["level"] in ("full", "landlock", "none") and report["sandbox"]["does_not"]
    assert [name for name, check in checks.items() if not check["ok"] and not check["way_out"]] == []
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("words", [("serve",), ("run", "x"), ("doctor",), ("model", "list")])
def test_without_a_home_folder_it_is_said_where_to_name_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def nobody(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)  # as in a container that was given a bare user id
    environ = {"HOME": None, "XDG_DATA_HOME": None, "ANYCOWORK_DATA_DIR": None}
    done = CliRunner().invoke(app, words, env=environ)
    assert done.exit_code in (1, 2)
    assert "There is no home folder" in done.stderr and "--data-dir or ANYCOWORK_DATA_DIR" in done.stderr


@proves("CLI-3", "SNAP-3")
def test_doctor_says_what_takes_room_and_what_is_beyond_its_bound(tmp_path: Path) -> None:
    cache = tmp_path / "data/staging/caches/one/pip"
    cache.mkdir(parents=True)
    (tmp_path / "data").chmod(0o700)
    (cache / "wheel").write_bytes(b"x" * 3_000_000)
    for most, ok in (("9000000", True), ("1000000", False)):
        environ = {"ANYCOWORK_COMMAND_CACHE_BYTES": most}
        report = json.loads(anycowork_cli("doctor", "--json", cwd=tmp_path, environ=environ).stdout)
        storage = next(check for check in report["checks"] if check["name"] == "storage")
        assert "caches of commands 2.9 MB of" in storage["detail"] and storage["ok"] is ok
        assert ok or "caches of commands" in storage["way_out"]


@proves("CLI-3", "SEC-2")
def test_doctor_names_keys_but_never_shows_them(tmp_path: Path) -> None:
    for words in (("doctor",), ("doctor", "--json")):
        done = anycowork_cli(*words, cwd=tmp_path, environ={"OPENAI_API_KEY": SECRET, "ANYCOWORK_TOKEN": SECRET})
        assert "OPENAI_API_KEY" in done.stdout
        assert SECRET not in done.stdout + done.stderr


@proves("CLI-3")
def test_doctor_fails_when_something_needed_is_missing(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    done = anycowork_cli("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert "✗ data folder" in done.stdout
    assert "choose another --data-dir" in done.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_what_belongs_to_somebody_else_is_named_in_one_sentence(tmp_path: Path) -> None:
    """Asked in a child that has given up its rights, with what it needs loaded before."""
    (tmp_path / "closed").mkdir(mode=0o700)
    code = (
        "import os, sys\nimport anycowork.cli.doctor, anycowork.cli.options, anycowork.sandbox.workspaces as w\n"
        "from pathlib import Path\nfrom anycowork.domain.errors import AnyCoworkError\n"
        "os.setgroups([]); os.setgid(12345); os.setuid(12345)\n"
        "closed = Path(sys.argv[1])\n"
        "looks = [lambda: anycowork.cli.doctor._require_readable(closed), lambda: anycowork.cli.options.require_folder(closed / 'x'),\n"
        "         lambda: w.check_root(closed, home=Path('/h'), data_dir=Path('/d'))]\n"
        "for look in looks:\n"
        "    try: look()\n"
        "    except AnyCoworkError as error: print(error.message)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "closed")]
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.count("cannot read") == 3 and done.stderr == ""


@proves("CLI-3", "TOOL-2")
def test_doctor_names_plugins_and_why_one_fails(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "plugins"
    install(folder, "good", "@tool\ndef greet(name: str) -> str:\n    'Greet.'\ntools = greet")
    install(folder, "bad", "import no_such_module")
    install(folder, "idle", "raise SystemExit(1)")
    (tmp_path / "data" / "config.toml").write_text('plugins = ["good", "bad", "gone"]')
    report = json.loads(anycowork_cli("doctor", "--json", cwd=tmp_path).stdout)
    [found] = [check for check in report["checks"] if check["name"] == "plugins"]
    assert not found["ok"] and not found["needed"]
    assert "good 1.0 (1 tools)" in found["detail"] and "idle 1.0 (not switched on)" in found["detail"]
    assert "bad 1.0 fails: bad:tools: ModuleNotFoundError: No module named 'no_such_module'" in found["detail"]
    assert "gone fails: it is not installed" in found["detail"]


@proves("CLI-3")
def test_doctor_finds_a_broken_settings_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "config.toml").write_text("port = = 1")
    done = anycowork_cli("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert "✗ settings" in done.stdout and "line 1" in done.stdout


def test_the_package_itself_can_be_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anycowork", "version"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, f"anycowork {anycowork.__version__}\n")


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("run", "list the files")])
def test_a_database_that_cannot_be_reached_is_not_silently_passed_over(tmp_path: Path, words: tuple[str, ...]) -> None:
    elsewhere = {"ANYCOWORK_DATABASE_URL": "postgresql://someone:secret@127.0.0.1:1/db"}
    done = anycowork_cli(*words, cwd=tmp_path, environ=elsewhere)
    assert done.returncode == 1 and "ANYCOWORK_DATABASE_URL" in done.stderr and "secret" not in done.stderr
    assert not (tmp_path / "data" / "anycowork.db").exists()


@proves("CLI-1")
def test_a_wrong_word_is_told_to_programs_as_a_result(tmp_path: Path) -> None:
    done = anycowork_cli("run", "--json", "--approved-plan", "missing.json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (result["type"], result["status"], result["exit_code"], done.returncode) == ("result", "usage", 2, 2)
    assert "missing.json cannot be read" in result["error"] and done.stderr == ""


@proves("CLI-1")
@pytest.mark.parametrize("words", [("run", "x"), ("workflow", "run", "explain_code")])
@pytest.mark.parametrize(("flags", "said"), [(("--bogus",), "--bogus"), (("--max-cost", "much"), "--max-cost")])
def test_a_flag_that_cannot_be_read_is_told_to_programs_as_a_result(
    tmp_path: Path, words: tuple[str, ...], flags: tuple[str, ...], said: str
) -> None:
    done = anycowork_cli(*words, "--json", *flags, cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (result["type"], result["status"], result["exit_code"], done.returncode) == ("result", "usage", 2, 2)
    assert said in result["error"] and done.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_no_character_is_too_much_for_a_terminal(tmp_path: Path, encoding: str) -> None:
    done = anycowork_cli("doctor", cwd=tmp_path, environ={"PYTHONIOENCODING": encoding}, encoding=encoding)
    assert done.returncode == 0 and "\\u2713 settings" in done.stdout
    plan = anycowork_cli("run", "--json", "", cwd=tmp_path, environ={"PYTHONIOENCODING": encoding}, encoding=encoding)
    assert "…" in json.loads(plan.stdout)["error"], "what programs read is JSON in every locale"


def test_output_that_cannot_be_written_ends_with_one_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = anycowork_cli("doctor", cwd=tmp_path, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "anycowork: The output could not be written (No space left on device).\n"


def test_a_closed_standard_output_is_no_fault(tmp_path: Path) -> None:
    closed = 'exec "$@" >&-'
    words = [
        "sh",
        "-c",
        closed,
        "sh",
        sys.executable,
        "-m",
        "anycowork.cli.main",
        "doctor",
        "--data-dir",
        str(tmp_path),
    ]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(SOURCE)}, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_colour_where_nobody_looks(tmp_path: Path) -> None:
    assert "\x1b[" not in anycowork_cli("doctor", cwd=tmp_path).stdout


OLD_CHATS = """{"title": "One", "config": {"agent_mode": "plan"}, "messages": [{"role": "user", "content": "hello"}]}
{"title": "Two", "messages": [{"role": "assistant", "content": [{"type": "text", "text": "hi"}]}]}
"""


@proves("MIG-1/7")
def test_importing_says_what_came_in_and_what_could_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text(OLD_CHATS + "{broken\n")
    done = anycowork_cli("import", "old.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert "old.jsonl: 2 chats with 2 messages\n" in done.stdout
    assert "old.jsonl, line 3: not JSON" in done.stderr


def test_importing_a_missing_file_beside_a_good_one_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text(OLD_CHATS)
    done = anycowork_cli("import", "old.jsonl", "missing.json", cwd=tmp_path)
    said = "anycowork import: missing.json cannot be read (No such file or directory).\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    assert not (tmp_path / "data").exists()


@proves("MIG-1")
def test_importing_a_chat_of_a_folder_that_is_not_allowed_says_so(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    chats = [
        {"id": name, "workspace": str(folder), "messages": []}
        for name, folder in (("a", "/nowhere"), ("b", tmp_path / "here"))
    ]
    (tmp_path / "old.json").write_text(json.dumps(chats))
    done = anycowork_cli("import", "old.json", cwd=tmp_path)
    assert done.returncode == 0, "it was imported all the same"
    assert "item 1: its folder '/nowhere' is missing or not registered" in done.stderr and "--workspace" in done.stderr
    assert "item 2" not in done.stderr


def test_importing_the_same_file_twice_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text(OLD_CHATS)
    assert anycowork_cli("import", "old.jsonl", cwd=tmp_path).returncode == 0
    again = anycowork_cli("import", "old.jsonl", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, "old.jsonl: 0 chats with 0 messages, 2 already there\n")


def test_importing_beside_a_running_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text(OLD_CHATS)
    with lock_data_folder(tmp_path / "data"):
        done = anycowork_cli("import", "old.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert "already uses the data folder" in done.stderr


def test_a_worker_with_an_address_of_another_kind_of_database_is_a_usage_error(tmp_path: Path) -> None:
    done = anycowork_cli("worker", "--db", "sqlite:///chats.db", cwd=tmp_path)
    assert done.returncode == 2
    assert "it begins with 'sqlite'. Write postgresql://" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--role", "nobody", "--workspace", "work", "hi"), "anycowork: There is no role 'nobody'."),
        (("usage", "--since", "yesterday"), "anycowork usage: 'yesterday' is not a day. Write --since as 2026-11-01."),
    ],
)
def test_a_mistake_in_the_arguments_is_named_with_the_way_out(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "work").mkdir()
    done = anycowork_cli(*words, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(said)
