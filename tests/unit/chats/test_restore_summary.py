"""What a restore did, as a person would say it."""

import pytest

from anycowork.chats.files.rollback import summary_text
from anycowork.domain.snapshots import Restored


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (Restored(deleted=("a",)), "1 file removed."),
        (Restored(("a", "b", "c"), ("d",)), "3 files restored, 1 removed."),
        (Restored(("a",)), "1 file restored."),
        (Restored(("notes/old", "notes/old/a.md", "notes", "b"), ("empty",)), "2 files restored, 1 removed."),
        (Restored(), "every file is as it was then."),
        (Restored(("a",), kept=("b",)), "1 file restored, 1 folder kept because it contains other files."),
    ],
)
def test_a_restore_names_only_what_it_did(done: Restored, words: str) -> None:
    assert summary_text(done) == f"Files were restored to an earlier state: {words}"
