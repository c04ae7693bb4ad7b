"""A command chooses the names of its files, and a person reads them before deciding: none of them says something else than is so."""

from pathlib import Path

import pytest

from anycowork.domain.tools import Intent
from support.hands import Bench
from support.spec import proves

NAMES = {
    "a second line": "x\nNo rule covers it",
    "a mark that turns words round": "x\u202etxt.",
    "letters without width": "x\u200b\u2060y",
    "a terminal's order": "x\u001b[2J",
}


@proves("APR-4")
@pytest.mark.parametrize("name", NAMES)
async def test_a_name_is_shown_as_what_it_is(bench: Bench, name: str) -> None:
    held: list[Intent] = []
    Path(bench.root, ".vscode").mkdir()
    hands = bench.hands(hold=held.append)
    command = f"python3 -c \"open(__import__('json').loads(input()), 'w').write('x')\" <<< '{_json(NAMES[name])}'"
    await bench.call("execute_command", hands, command=command)
    (waiting,) = held
    assert waiting.held is not None
    told = "".join((*waiting.held.why, waiting.held.diff))
    assert ".vscode/x" in told
    assert all(letter.isprintable() or letter in "\n\t" for letter in told) and "x\nNo rule" not in told


def _json(name: str) -> str:
    return '".vscode/' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'
