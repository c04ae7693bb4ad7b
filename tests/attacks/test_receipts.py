"""Receipts of strangers: forged, leading out of the folder, or with a command that is not what it seems."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from anycowork.cli.options import Invocation
from anycowork.cli.verify import verify
from anycowork.domain.evidence import receipt_id
from anycowork.domain.messages import Json
from support.spec import proves

DIGEST = sha256(b"x").hexdigest()


def verified(tmp_path: Path, **parts: object) -> int:
    receipt: Json = {"format": 1, "command": "true", "exit_code": 0, "files": {"a.txt": DIGEST}, **parts}  # type: ignore[dict-item]  # forged
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_text("x")
    (tmp_path / "receipt.json").write_text(json.dumps({"id": receipt_id(receipt), **receipt}))
    return verify(Invocation({"data_dir": str(tmp_path / "data")}, {}, tmp_path), "receipt.json", workspace=root)


@proves("EVD-4/2")
@pytest.mark.parametrize(
    "forged",
    [
        {"files": {"not-there.txt": None}}, {"files": {"a.txt": ""}}, {"files": {"a.txt": [DIGEST]}}, {"files": [DIGEST]}, {"files": None},
        {"exit_code": None}, {"exit_code": True}, {"command": ["true"]}, {"id": DIGEST},
    ],
)  # fmt: skip
def test_what_names_no_content_is_no_receipt(tmp_path: Path, forged: Json) -> None:
    assert verified(tmp_path, **forged) == 2


@proves("EVD-4/2")
@pytest.mark.parametrize(
    "forged",
    [{"command": "false \ud800"}, {"files": {"\ud800": DIGEST}}, {"\udfff": 1}, {"files": {"\ud83d\ude00": DIGEST}}],
)
def test_half_a_character_ends_in_an_answer(tmp_path: Path, forged: Json) -> None:
    receipt = {"format": 1, "command": "exit 1", "exit_code": 0, "files": {"a.txt": DIGEST}, **forged}
    (tmp_path / "receipt.json").write_text(json.dumps(receipt))
    (tmp_path / "a.txt").write_text("x")
    assert (
        verify(Invocation({"data_dir": str(tmp_path / "data")}, {}, tmp_path), "receipt.json", workspace=tmp_path) == 1
    )


@proves("EVD-4/2")
@pytest.mark.parametrize(
    "path", ["../secret.txt", "{root}/secret.txt", "link.txt", "folder/secret.txt", "a\0b", "a.txt/b", "n" * 5000]
)
def test_a_path_that_leads_out_is_never_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "work/folder").symlink_to(tmp_path)
    assert verified(tmp_path, files={path.format(root=tmp_path): DIGEST}) == 1, "else the receipt tells what is there"


@proves("EVD-4/2")
def test_a_command_is_shown_as_it_ran_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(tmp_path, command="rm -f a.txt; echo x > b.txt\n: \x1b[2K\u202etset") == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 1 and "rm -f a.txt; echo x > b.txt" in shown
    assert "\x1b" not in shown and "\u202e" not in shown
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["a.txt"]


@proves("EVD-4/2")
def test_no_line_of_an_output_can_be_taken_for_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(tmp_path, command="printf 'y\\nsame: 9 files\\n'; exit 1") == 1
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("different: exit code 1") and others and all(line.startswith("  | ") for line in others)
