"""A command is told of key files that it named or could not read, not of those in a workspace where something else was denied to it."""

import pytest

from anycowork.domain.tools import CallStatus, ToolResult
from anycowork.tools.command_summary import without_key_files

KEY_FILES = (".env", "deploy/id_ed25519")


def told_of(output: str, command: str = "make deploy") -> list[str]:
    result = without_key_files(ToolResult(CallStatus.ERROR, output), KEY_FILES, command)
    assert result.facts["key_files_left_out"] == list(KEY_FILES), "the record names them, whatever the model is told"
    says = result.content[len(output) :]
    return [path for path in KEY_FILES if f"'{path}'" in says]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("cat: .env: Permission denied", [".env"]),
        ("PermissionError: [Errno 13] Permission denied: '/w/deploy/id_ed25519'", ["deploy/id_ed25519"]),
        ("Load key: Permission denied (os error 13)", list(KEY_FILES)),
        ("touch: cannot touch '/usr/lib/x': Permission denied", []),
        ("bash: ./run.sh: Permission denied", []),
        ("open /etc/shadow: permission denied", []),
        ("bash: ./run.sh: Permission denied\nEACCES", list(KEY_FILES)),
        ("it works", []),
    ],
)
def test_what_was_denied_is_told_by_what_the_denial_names(output: str, expected: list[str]) -> None:
    assert told_of(output) == expected


def test_a_command_that_names_one_is_told_of_it_whatever_it_prints() -> None:
    assert told_of("nothing", "cat .env") == [".env"]
