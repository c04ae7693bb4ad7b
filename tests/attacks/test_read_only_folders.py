"""Folders that their owner may not write to, as Go's module cache makes them: commands change them, and restores undo that.

For root nothing is read-only; the second run of the attacks is by an ordinary user.
"""

import stat
from pathlib import Path

import pytest

from support.checkpoints import recorded, whole
from support.spec import proves


@proves("SNAP-2/1")
@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p mod/deep; echo made > mod/deep/a; chmod 555 mod/deep mod",
        "echo new > src/inner/old.txt; echo new > src/made.txt; chmod 555 src src/inner",
        "chmod 755 closed; echo new > closed/old.txt; rm closed/gone.txt; echo new > closed/made.txt; chmod 555 closed",
        "chmod 755 closed; rm -r closed",
        "chmod 755 closed; rm -r closed; echo a file > closed",
        "rm -r src; mkdir src; echo made > src/made.txt; chmod 500 src",
    ],
    ids=["new", "closed by it", "opened and closed by it", "removed", "replaced by a file", "replaced by a closed one"],
)
@pytest.mark.parametrize("few_paths", [200, 1], ids=["few", "many"])
async def test_read_only_folders_are_committed_and_restored(tmp_path: Path, command: str, few_paths: int) -> None:
    async with recorded(tmp_path, few_paths=few_paths) as server:
        for name in ("src/inner/old.txt", "src/other.txt", "closed/old.txt", "closed/gone.txt"):
            place = server.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("old\n")
        (server.root / "closed").chmod(0o555)
        was = whole(server.root)
        before = await server.command(command)
        assert before is not None and whole(server.root) != was
        answer = await server.restore(before)
        assert not answer.done.conflicts and not answer.done.kept
        assert whole(server.root) == was
        assert stat.S_IMODE((server.root / "closed").stat().st_mode) == 0o555
        assert not [name for name in whole(server.root) if name.endswith(".tmp")]
