"""`anycowork model connect | test | list | remove`, as a person types them."""

import json
import stat
from pathlib import Path

import pytest

from support.cli_process import CommandLine
from support.scripted_model import HttpError, serve_in_thread
from support.spec import proves

KEY = "sk-typed-0123456789abcdef"


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@proves("MOD-1", "MOD-2", "SEC-2")
def test_a_model_is_connected_used_and_removed_from_the_terminal(cli: CommandLine) -> None:
    with serve_in_thread(["OK", HttpError(401), "Good day."]) as model:
        done = cli.type("model", "connect", model.base_url, "--name", "office", "--key-stdin", piped=f"{KEY}\n")
        assert (done.returncode, "office is ready" in done.stdout) == (0, True), done.stderr
        assert KEY not in done.stdout + done.stderr
        keys = cli.data / "provider-keys.json"
        assert json.loads(keys.read_text())["office"]["key"] == KEY and stat.S_IMODE(keys.stat().st_mode) == 0o600
        assert KEY not in (cli.data / "config.toml").read_text()
        assert "office" in cli.type("model", "list").stdout
        refused = cli.type("model", "test", "office")
        assert refused.returncode == 1 and "refused the key" in refused.stderr
        assert cli.type("run", "Say good day", "--model", "office/scripted").stdout.strip() == "Good day."
        assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in model.headers)
        assert cli.type("model", "remove", "office").returncode == 0
        assert json.loads(keys.read_text()) == {} and "office" not in cli.type("model", "list").stdout


@proves("MOD-1")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("model", "connect"), "openai, anthropic"),
        (("model", "connect", "opnai"), "known server"),
        (("model", "connect", "openai"), "--key-stdin"),
    ],
)
def test_what_cannot_be_connected_is_a_usage_error(cli: CommandLine, words: tuple[str, ...], said: str) -> None:
    done = cli.type(*words, piped="")
    assert done.returncode == 2 and said in done.stderr


@proves("MOD-1")
def test_a_server_is_connected_by_an_address_without_its_v1(cli: CommandLine) -> None:
    with serve_in_thread(["OK"]) as model:
        words = ("model", "connect", model.base_url.removesuffix("/v1"), "--name", "office", "--key-stdin")
        done = cli.type(*words, piped=f"{KEY}\n")
        assert (done.returncode, "office is ready" in done.stdout) == (0, True), done.stderr
        assert f"{model.base_url}\n" in cli.type("model", "list").stdout
        assert model.headers[-1]["Authorization"] == f"Bearer {KEY}"
        other = cli.type("model", "connect", f"{model.base_url}/other", "--name", "nowhere", "--key-stdin", piped="x\n")
        assert other.returncode == 1 and "most end in /v1" in other.stderr
        assert "nowhere" not in cli.type("model", "list").stdout


@proves("MOD-1")
def test_a_server_that_does_not_answer_is_not_kept(cli: CommandLine) -> None:
    with serve_in_thread([HttpError(401), "OK"]) as model:
        words = ("model", "connect", model.base_url, "--name", "office", "--key-stdin")
        refused = cli.type(*words, piped="sk-wrong-0123456789\n")
        assert (
            refused.returncode == 1 and "refused the key" in refused.stderr and "Nothing was stored" in refused.stderr
        )
        assert "office" not in cli.type("model", "list").stdout
        assert cli.type(*words, piped=f"{KEY}\n").returncode == 0
        again = cli.type(*words, piped=f"{KEY}\n")
        assert again.returncode == 2 and "`anycowork model remove office`" in again.stderr
        missing = cli.type("model", "test", "nobody")
        assert missing.returncode == 2 and "`anycowork model list` lists them" in missing.stderr
        unknown = cli.type("model", "remove", "nobody")
        assert unknown.returncode == 2 and "No connected server and no downloaded model" in unknown.stderr
