"""Keeps access lists and people's own attributes of a file that is replaced by another one of the same name."""

import os
import sys
from contextlib import suppress

ACCESS_LIST = "system.posix_acl_access"


def keep_attributes(name: str, folder: int, new: int) -> None:
    """Gives them to the `new` file, before its mode is set: with an access list, the group's bits of a mode are no rights of the group.

    Does nothing where the disk has none, or the file is gone.
    """
    if sys.platform != "linux":
        return
    path = f"/proc/self/fd/{folder}/{name}"
    try:
        attributes = os.listxattr(path, follow_symlinks=False)
    except OSError:
        return
    for attribute in attributes:
        if attribute == ACCESS_LIST or (attribute.startswith("user.") and not attribute.startswith("user.overlay.")):
            with suppress(OSError):
                os.setxattr(new, attribute, os.getxattr(path, attribute, follow_symlinks=False))
