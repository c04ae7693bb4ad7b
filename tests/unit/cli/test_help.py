"""What `--help` prints, of every command that there is."""

from collections.abc import Iterator

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from anycowork.cli.command_order import COMMAND_ORDER
from anycowork.cli.main import app


def _groups_and_commands() -> Iterator[tuple[str, ...]]:
    yield ()
    main = get_command(app)
    assert isinstance(main, TyperGroup)
    for name, command in main.commands.items():
        yield (name,)
        if isinstance(command, TyperGroup):
            yield from ((name, inner) for inner in command.commands)


@pytest.mark.parametrize("words", [*_groups_and_commands()], ids=" ".join)
def test_help_is_readable(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}, prog_name="anycowork")
    assert done.exit_code == 0, done.output
    assert "\\b" not in done.output, "a mark of the help's source is printed"
    assert "..." not in done.output.partition("Commands:")[2], "a description is cut off"


def test_every_command_has_its_place_in_the_list() -> None:
    main = get_command(app)
    assert isinstance(main, TyperGroup)
    assert set(COMMAND_ORDER) == set(main.commands)
    listed = CliRunner().invoke(app, ["--help"]).output.partition("Commands:")[2]
    assert [line.split()[0] for line in listed.splitlines() if line[:3].strip()] == [*COMMAND_ORDER]
