"""`anycowork instructions` as people type it, and what a headless run says of those that nobody trusted."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from support.cli_process import CommandLine, ServeProcess
from support.scripted_model import ScriptedModel
from support.spec import proves

RULES = "Use tabs.\n"
HASH = sha256(RULES.encode()).hexdigest()


@pytest.fixture
def cli(shared: tuple[CommandLine, ServeProcess], models: ScriptedModel) -> Iterator[CommandLine]:
    """Its server runs; each command attaches to it. The folder has instructions that nobody trusted."""
    models.replies.clear()
    cli = shared[0]
    file = cli.workspace / "AGENTS.md"
    file.write_text(RULES)
    yield cli
    cli.type("instructions", "--distrust")
    file.unlink(missing_ok=True)


@proves("SEC-4", "CLI-1")
def test_they_are_shown_trusted_by_what_was_read_and_distrusted(cli: CommandLine, models: ScriptedModel) -> None:
    shown = cli.type("instructions")
    assert (shown.returncode, shown.stdout) == (0, RULES) and "Nobody has trusted it" in shown.stderr
    assert f"anycowork instructions --trust {HASH[:32]}" in shown.stderr
    trusted = cli.type("instructions", "--trust", HASH[:32])
    assert trusted.returncode == 0 and "It is trusted" in trusted.stderr
    models.replies += ["Hello."]
    ran = cli.type("run", "hello")
    assert (ran.stdout, "AGENTS.md" in ran.stderr) == ("Hello.\n", False)
    assert "Use tabs." in models.requests[-1]["messages"][0]["content"]
    assert "not used" in cli.type("instructions", "--distrust").stderr


@proves("SEC-4")
def test_a_run_says_that_it_ignored_them(cli: CommandLine, models: ScriptedModel) -> None:
    models.replies += ["Hello.", "Hello."]
    ran = cli.type("run", "hello")
    assert (ran.returncode, ran.stdout) == (0, "Hello.\n")
    assert "AGENTS.md of this folder is not trusted yet; it was ignored." in ran.stderr
    assert "Use tabs." not in models.requests[-1]["messages"][0]["content"]
    result = json.loads(cli.type("run", "--json", "hello").stdout.splitlines()[-1])
    assert result["notes"] == [
        "AGENTS.md of this folder is not trusted yet; it was ignored. `anycowork instructions` shows it."
    ]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--trust", "yes"], 2, "the hash of what you have read"),
        (["--trust", "0" * 32], 1, "is not what you have read"),
        (["--trust", HASH, "--distrust"], 2, "not both"),
        (["--distrust"], 1, "trusted file"),
    ],
)
def test_what_cannot_be_trusted_is_refused_with_the_way_out(
    cli: CommandLine, words: list[str], code: int, told: str
) -> None:
    done = cli.type("instructions", *words)
    assert done.returncode == code and told in done.stderr


def test_a_folder_without_them_says_so(cli: CommandLine) -> None:
    (cli.workspace / "AGENTS.md").unlink()
    done = cli.type("instructions", "--json")
    assert json.loads(done.stdout) == {"instructions": None}
    assert "no AGENTS.md" in cli.type("instructions").stderr
    Path(cli.workspace / "AGENTS.md").write_text(RULES)
