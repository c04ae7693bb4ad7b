"""Access lists and people's own attributes: a command that appends to a file keeps them, and so does its restore.

Without its access list, the group's bits in a file's mode would be rights of the group: a restore would open the file to others.
"""

import os
import struct
from pathlib import Path

import pytest

from anycowork.sandbox.layers.stage import Layer
from support.checkpoints import recorded
from support.spec import proves

ACCESS_LIST = "system.posix_acl_access"
_NOBODY = 0xFFFFFFFF
_ENTRIES = (
    (0x01, 6, _NOBODY),  # the owner
    (0x02, 6, 4321),  # a user
    (0x04, 0, _NOBODY),  # the group: nothing
    (0x10, 6, _NOBODY),  # at most
    (0x20, 0, _NOBODY),  # others: nothing
)


def set_access_list(path: Path) -> None:
    packed = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in _ENTRIES)
    try:
        os.setxattr(path, ACCESS_LIST, packed)
        os.setxattr(path, "user.note", b"a person's")
    except OSError:
        pytest.skip("this file system has no access lists")


def attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


@proves("SNAP-2/1")
@pytest.mark.parametrize("few_paths", [200, 1], ids=["few", "many"])
@pytest.mark.parametrize("layer", Layer)
async def test_access_list_and_attributes_of_a_file_outlive_commit_and_restore(
    tmp_path: Path, layer: Layer, few_paths: int
) -> None:
    async with recorded(tmp_path, layer=layer, few_paths=few_paths) as server:
        files = [server.root / f"{number}.txt" for number in range(40)]
        for file in files:
            file.write_text("old\n")
            file.chmod(0o660)
        set_access_list(files[7])
        was = attributes(files[7])
        before = await server.command("for f in *.txt; do echo new >> $f; done")
        assert before is not None and files[7].read_text() == "old\nnew\n"
        assert attributes(files[7]) == was
        await server.restore(before)
        assert files[7].read_text() == "old\n" and attributes(files[7]) == was
        assert files[7].stat().st_mode & 0o777 == 0o660 and not attributes(files[8])
