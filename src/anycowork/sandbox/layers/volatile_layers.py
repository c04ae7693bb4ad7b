"""Mounts the layer of a command before bubblewrap starts, with the kernel's option `volatile`: then the kernel syncs no file that it copies
into the layer. A layer that was not committed is dropped after a crash, and a commit syncs everything itself (`commit.py`, `seal`).

Bubblewrap cannot pass the option. The programs `unshare` and `mount` mount the layer in their own namespaces, with the rights of the user that
the command runs as, and become bubblewrap, which only binds the mounted folder.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from secrets import token_hex

from anycowork.domain.values import replace
from anycowork.domain.visible_text import bare_lines
from anycowork.sandbox.layers.mounts import UNMOUNTED, Overlay
from anycowork.sandbox.layers.stage import VOLATILE_MARK, Stage
from anycowork.sandbox.layers.staging_folders import Runner, remove_tree

_SECONDS = 10.0
_LONGEST_PATHS = 250  # bytes; newer kernels take no more in one option
_IN_MEMORY = ("tmpfs", "ramfs")
# With its path: the program before it starts without an environment.
_MOUNT = f'"$1" -i -n -t overlay overlay -o "$2" "$3" || exit {UNMOUNTED}; shift 3; exec "$@"'


class VolatileLayers:
    """Knows for each user and file system whether layers can be mounted so. Blocking; for several threads."""

    def __init__(self) -> None:
        self._usable: dict[tuple[Runner, int], bool] = {}

    def prepared(self, stage: Stage, as_runner: Sequence[str]) -> Stage:
        """Returns the stage with a folder for the mount, where that works and saves a sync. `as_runner` starts a program as its user."""
        key = stage.runner, stage.folder.stat().st_dev
        usable = self._usable.get(key)
        if usable is None:
            usable = self._usable[key] = not _is_in_memory(key[1]) and _works(stage.folder.parent, as_runner)
        if not usable:
            return stage
        mount = stage.folder / "mount"
        mount.mkdir(mode=0o700)
        return replace(stage, mount=mount)


def mountable(overlay: Overlay) -> bool:
    """Tells whether `mount` passes the paths to the kernel as they are: none is long or has a character with a meaning for it."""
    paths = (*overlay.lower, overlay.upper or "", overlay.work or "")
    plain = all(path.isprintable() and path.isascii() and not set(path) & set('\\,:"') for path in paths)
    return plain and max(len(":".join(overlay.lower)), *map(len, paths)) <= _LONGEST_PATHS


def mount_words(overlay: Overlay) -> list[str]:
    """Returns the words before bubblewrap that mount it; none if bubblewrap mounts it itself."""
    if overlay.mounted_at is None:
        return []
    unshare, mount = _programs() or ("unshare", "mount")
    lower = ":".join(reversed(overlay.lower))  # the kernel expects the topmost first
    options = f"lowerdir={lower},upperdir={overlay.upper},workdir={overlay.work},userxattr,volatile"
    shell = ["/bin/sh", "-c", _MOUNT, "sh", mount, options, overlay.mounted_at]
    return [unshare, "--map-root-user", "--mount", "--", *shell]


@cache
def _programs() -> tuple[str, str] | None:
    unshare, mount = shutil.which("unshare"), shutil.which("mount")
    return (unshare, mount) if unshare and mount else None


def _works(folder: Path, as_runner: Sequence[str]) -> bool:
    """Mounts one and looks for the folder that the kernel makes for a volatile one, by which it refuses a second mount."""
    if _programs() is None:
        return False
    trial, names = folder / f"trial-{token_hex(8)}", ("lower", "upper", "work", "mount")
    try:
        for path in (trial, *(trial / name for name in names)):
            path.mkdir()
            path.chmod(0o777)
        lower, upper, work, mount = (str(trial / name) for name in names)
        mount_command = mount_words(Overlay((lower,), "/", upper=upper, work=work, mounted_at=mount))
        done = subprocess.run(
            [*as_runner, *mount_command, "/bin/sh", "-c", '[ -d "$1" ]', "sh", f"{work}/{VOLATILE_MARK}"],
            cwd="/",
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        remove_tree(trial)


def _is_in_memory(device: int) -> bool:
    """There a sync costs nothing."""
    device_number = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = bare_lines(os.fsdecode(Path("/proc/self/mountinfo").read_bytes()))
    except OSError:
        return False
    return any(
        line.split(" ")[2] == device_number
        and line.partition(" - ")[2].startswith(tuple(f"{kind} " for kind in _IN_MEMORY))
        for line in lines
    )
