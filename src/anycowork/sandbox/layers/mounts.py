"""Overlay mounts of a sandbox: bubblewrap's arguments, the options for the kernel, and the check inside that they arrived complete.

Bubblewrap joins all layers of an overlay into one string, and the kernel reads at most a page of it. It cuts a longer string without an
error, and then an ancestor of a layer, or the root of the machine, can be mounted in place of the layer.
"""

import shlex
from collections.abc import Sequence

from anycowork.domain.values import value

LONGEST_OPTIONS = 3_500  # bytes; the kernel reads 4,095
UNMOUNTED = 126  # the exit code of a command that did not start because a mount is not the requested one
_OLD_ROOT = "/oldroot"  # where bubblewrap keeps the machine's root while it mounts
_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\,:"})


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
