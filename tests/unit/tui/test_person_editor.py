"""The person's own editor: what it leaves is taken, and a half-done merge is not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.app import App

from anycowork.domain.errors import Invalid
from anycowork.tui.person_editor import edited_steps, merged_by_hand
from anycowork.workspace.merges import merge_draft

DRAFT = merge_draft(b"one\ntwo\n", b"one\nmine\n", b"one\nyours\n")


class SuspendingApp(App[None]):
    """An app whose terminal another program may use."""

    @contextmanager
    def suspend(self) -> Iterator[None]:
        yield


def use_editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, commands: str) -> None:
    """Let the person's editor run these commands of sed."""
    script = tmp_path / "commands.sed"
    script.write_text(commands)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sed -i -f {script}")


def test_merge_is_what_the_person_wrote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert DRAFT == "one\n<<<<<<< the task\nmine\n=======\nyours\n>>>>>>> there now\n"
    use_editor(monkeypatch, tmp_path, "/^[<=>]\\{7\\}/d\ns/^mine$/mine and/\n")
    assert merged_by_hand(SuspendingApp(), "a/b.py", DRAFT) == "one\nmine and\nyours\n"


@pytest.mark.parametrize(
    ("commands", "reason"),
    [("/^=======/d\n", "still has marks"), ("s/mine/\\xff/\n/^[<=>]\\{7\\}/d\n", "not UTF-8")],
    ids=["marks are left", "it is no text"],
)
def test_half_done_merge_answers_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, commands: str, reason: str
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    use_editor(monkeypatch, tmp_path, commands)
    assert DRAFT is not None
    with pytest.raises(Invalid, match=reason):
        merged_by_hand(SuspendingApp(), "a.py", DRAFT)


def test_editor_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "false")
    with pytest.raises(Invalid, match="ended with 1"):
        edited_steps(SuspendingApp(), [{"id": "1"}])
    monkeypatch.setenv("EDITOR", "true")
    assert edited_steps(SuspendingApp(), [{"id": "1"}]) is None
