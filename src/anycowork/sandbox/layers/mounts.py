"""Overlay mounts of a sandbox: bubblewrap's arguments, the options for the kernel, and the check inside that they arrived complete.

Bubblewrap joins all layers of an overlay into one string, and the kernel reads at most a page of it. It cuts a longer string without an
error, and then an ancestor of a layer, or the root of the machine, can be mounted in place of the layer.

Where it can be, the layer of a command is mounted before bubblewrap starts, with the kernel's option `volatile`, which bubblewrap cannot pass: then
the kernel syncs no file that it copies into the layer. A layer that was not committed is dropped after a crash, and a commit syncs everything
itself (`seal`). The programs `unshare` and `mount` mount the layer in their own namespaces, with the rights of the user that the command runs as,
and become bubblewrap, which only binds the mounted folder.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from secrets import token_hex

from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import bare_lines
from anycowork.sandbox.layers.stage import VOLATILE_MARK, Stage
from anycowork.sandbox.layers.staging_folders import Runner, remove_tree

LONGEST_OPTIONS = 3_500  # bytes; the kernel reads 4,095
UNMOUNTED = 126  # the exit code of a command that did not start because a mount is not the requested one
_OLD_ROOT = "/oldroot"  # where bubblewrap keeps the machine's root while it mounts
_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\,:"})
_SECONDS = 10.0
_LONGEST_PATHS = 250  # bytes; newer kernels take no more in one option
_IN_MEMORY = ("tmpfs", "ramfs")
# With its path: the program before it starts without an environment.
_MOUNT = f'"$1" -i -n -t overlay overlay -o "$2" "$3" || exit {UNMOUNTED}; shift 3; exec "$@"'


@value
class Overlay:
    """`lower` are absolute paths, the topmost last. Without `upper` and `work` the writes go to memory and are lost, or are refused if it
    is `read_only`. One that is `mounted_at` a folder before bubblewrap starts is only bound by it."""

    lower: tuple[str, ...]
    target: str
    upper: str | None = None
    work: str | None = None
    read_only: bool = False
    mounted_at: str | None = None

    def arguments(self) -> list[str]:
        if self.mounted_at is not None:
            return ["--bind", self.mounted_at, self.target]
        sources = [word for folder in self.lower for word in ("--overlay-src", folder)]
        if self.read_only:
            return [*sources, "--ro-overlay", self.target]
        if self.upper is None or self.work is None:
            return [*sources, "--tmp-overlay", self.target]
        return [*sources, "--overlay", self.upper, self.work, self.target]

    def fits(self, longest: int = LONGEST_OPTIONS) -> bool:
        """Tells whether its option string is short enough, by default for every kernel."""
        layers = [*self.lower, self.upper or "", self.work or ""]
        length = sum(len(_OLD_ROOT) + 1 + len(_escaped(layer).encode(errors="surrogateescape")) for layer in layers)
        return (
            length + len("upperdir=/tmp-overlay-upper-000,workdir=/tmp-overlay-work-000,lowerdir=,userxattr") <= longest
        )

    def spellings(self) -> list[str]:
        """Returns the ways in which kernels list its layers among the mount's options: escaped as they were given, or plain."""
        return list(dict.fromkeys(self._spelt(escaped=escaped) for escaped in (True, False)))

    def _spelt(self, *, escaped: bool) -> str:
        # Bubblewrap reverses the order: the kernel expects the topmost first.
        root = _OLD_ROOT if self.mounted_at is None else ""
        lower = ":".join(root + _spelt(folder, escaped=escaped) for folder in reversed(self.lower))
        if self.read_only:
            return f",lowerdir={lower},"
        if self.upper is None or self.work is None:
            return f",lowerdir={lower},upperdir=/tmp-overlay-upper-"
        upper, work = (root + _spelt(folder, escaped=escaped) for folder in (self.upper, self.work))
        return f",lowerdir={lower},upperdir={upper},workdir={work},"


def mount_check(overlays: Sequence[Overlay]) -> str:
    """Returns bash commands, on one line, that exit unless the kernel lists each overlay with exactly the requested layers."""
    if not overlays:
        return ":"
    cases = "".join(f"{_patterns(overlay)}) left=${{left/{number},/}};; " for number, overlay in enumerate(overlays))
    numbers = "".join(f"{number}," for number in range(len(overlays)))
    return (
        f"mapfile -t mounts < /proc/self/mountinfo; left={numbers}; "
        'for mount in "${mounts[@]}"; do [[ $mount == *" - overlay "* ]] || continue; '
        # The kernel writes special characters as \nnn, which printf decodes in a format.
        f'printf -v mount "${{mount//%/%%}},"; case "$mount" in {cases}esac; done; '
        f'[[ -z $left ]] || {{ echo "a mount is not what was asked for ($left)" >&2; exit {UNMOUNTED}; }}; '
        "unset mounts mount left"
    )


def _patterns(overlay: Overlay) -> str:
    point = _quoted(f" / {overlay.target} ")
    return "|".join(f'*{point}*" - overlay "*{_quoted(spelling)}*' for spelling in overlay.spellings())


def _quoted(text: str) -> str:
    if text.isprintable() and "\n" not in text:
        return shlex.quote(text)
    # Bash reads only one line before it starts, so a newline in a name must be escaped here.
    codes = {"\\": r"\\", "'": r"\'"}
    return "$'" + "".join(codes.get(char, char if ord(char) >= 32 else f"\\{ord(char):03o}") for char in text) + "'"


def _spelt(folder: str, *, escaped: bool) -> str:
    return _escaped(folder) if escaped else folder


def _escaped(folder: str) -> str:
    return folder.translate(_ESCAPED)


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
