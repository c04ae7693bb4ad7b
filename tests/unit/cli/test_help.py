"""What `--help` prints, of every command that there is."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from anycowork.cli.command_groups import COMMAND_ORDER
from anycowork.cli.main import app
from support.commands import every_command


def _groups_and_commands() -> Iterator[tuple[str, ...]]:
    yield ()
    for name, command in every_command(app).items():
        yield (name,)
        if isinstance(command, TyperGroup):
            yield from ((name, inner) for inner in command.commands)


@pytest.mark.parametrize("words", [*_groups_and_commands()], ids=" ".join)
def test_help_is_readable(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}, prog_name="anycowork")
    assert done.exit_code == 0, done.output
    assert "\\b" not in done.output, "a mark of the help's source is printed"
    assert "..." not in done.output.partition("Commands:")[2], "a description is cut off"


# Types, ranges and constants as Python or typer write them; `<markdown|json>` names choices and is fine.
PYTHON = re.compile(r"\b(?:list|dict|tuple|set)\[|<[\w ]+>|\b(?:None|True|False|int|str|bool)\b|<=|>=|\{[A-Z]")
# The code's own words, which people of the product need not know.
INTERNAL = re.compile(r"(?<!/)\b(?:principals?|deltas?|snapshots?|journal|contexts?|invocation|coordinator)\b", re.I)
# A capital first, a full stop at the end; a default in brackets may follow.
SENTENCE = re.compile(r"[A-Z].*[.…](?: \[[^]]+\])?\Z|[A-Z].*\.\s", re.DOTALL)


@pytest.mark.parametrize("words", [*_groups_and_commands()], ids=" ".join)
def test_help_speaks_to_people(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}, prog_name="anycowork")
    prose = "\n".join(line for line in done.output.splitlines() if not line.startswith(" " * 6 + "anycowork "))
    assert not PYTHON.findall(prose)
    assert not INTERNAL.findall(prose)


@pytest.mark.parametrize("words", [*_groups_and_commands()], ids=" ".join)
def test_every_command_argument_and_option_has_a_sentence(words: tuple[str, ...]) -> None:
    command: Any = get_command(app)  # Any: typer does not export the class
    for word in words:
        command = command.get_command(None, word)
    told = {command.name: command.help, **{param.name: param.help for param in command.params}}
    assert [name for name, text in told.items() if not SENTENCE.match(text or "")] == []


def test_every_command_has_its_place_in_the_list() -> None:
    assert set(COMMAND_ORDER) == set(every_command(app))
    listed = CliRunner().invoke(app, ["--help"]).output.partition("Commands:")[2]
    assert [line.split()[0] for line in listed.splitlines() if line[:3].strip()] == [*COMMAND_ORDER]
