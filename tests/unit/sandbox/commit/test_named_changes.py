"""Changes that are always shown by name are found folder by folder exactly as path by path."""

from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.path_summary import folder_counts
from anycowork.sandbox.commit.delta import FILE, Delta, PathChange, PathState
from anycowork.sandbox.commit.delta_check import count_by_folder, is_named_always, named_always
from anycowork.workspace.paths import WorkspacePath

NAMES = (
    "a",
    "b.py",
    ".env",
    "id_rsa",
    "my-secret.txt",
    ".vscode",
    ".VSCODE",
    "AGENTS.md",
    ".ssh",
    "package.json",
    "settings.json",
    ".git",
)
FILE_STATE = PathState(FILE, 0o644)


def change(parts: tuple[str, ...], kind: int = 0) -> PathChange:
    before, after = ((FILE_STATE, FILE_STATE), (None, FILE_STATE), (FILE_STATE, None))[kind]
    return PathChange(WorkspacePath(parts), before, after)


places = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple)


@given(st.lists(st.builds(change, places, st.integers(0, 2)), max_size=12))
def test_folders_are_looked_at_once_and_nothing_is_missed(changes: list[PathChange]) -> None:
    changes.sort(key=lambda one: one.place.parts)
    delta = Delta(changes)
    assert named_always(delta) == [one for one in changes if is_named_always(one.place)]
    assert count_by_folder(changes) == folder_counts([(one.place.path, one.verb) for one in changes])


def test_what_is_remembered_belongs_to_the_list_of_changes() -> None:
    delta = Delta([change(("a",))])
    assert named_always(delta) == []
    delta.changes = [*delta.changes, change((".env",))]
    assert [one.place.path for one in named_always(delta)] == [".env"]
