"""Private copies of a workspace for the tasks of a job."""

from pathlib import Path

from anycowork.sandbox.stage import Layer, Staging, runner_for


def test_copy_that_a_killed_server_left_half_removed_is_removed(tmp_path: Path) -> None:
    (root := tmp_path / "work").mkdir()
    staging = Staging(tmp_path / "staging")
    copy = staging.keep_copy(staging.open(runner_for(str(root)), Layer.COPY), str(root))
    assert staging.copies() == [str(copy)] and staging.origin_of(str(copy)) == str(root)
    (copy.parent / "origin").unlink()  # removing it began, and never ended
    staging.drop_copy(str(copy))
    assert staging.copies() == []
    staging.drop_copy(str(root / "upper"))
    assert root.is_dir(), "only a copy is removed"
