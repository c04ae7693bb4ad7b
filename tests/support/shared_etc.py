"""One /etc of sandboxes for all servers of a test process.

A server makes its own from some 700 files when it starts, which takes longer than most tests. Here the first one is made in the same way,
and the others get a link to it. A sandbox that runs as another user gets its own: that user could not reach the shared one.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from anycowork.sandbox.layers import stage
from anycowork.sandbox.layers.staging_folders import Runner


@contextmanager
def shared_etc() -> Iterator[None]:
    make_whole = stage._make_etc_whole
    with TemporaryDirectory(prefix="shared-etc-") as folder, pytest.MonkeyPatch.context() as patch:

        def link(etc: Path, runner: Runner, own: Mapping[str, str]) -> None:
            if not runner.is_us:
                make_whole(etc, runner, own)
                return
            made = Path(folder) / etc.name  # the name holds a digest of all that is in it
            if not made.is_dir():
                make_whole(made, runner, own)
            etc.symlink_to(made)

        patch.setattr(stage, "_make_etc_whole", link)
        yield
