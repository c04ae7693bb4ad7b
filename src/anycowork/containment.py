"""What holds commands and file tools on this machine: the sandbox if one really works, the level's name, and in plain words what it does not hold."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from anycowork.domain.messages import Json
from anycowork.machine import SandboxLevel, look_at_kernel, look_for_bubblewrap, sandbox_level
from anycowork.workspace.holding import is_held
from anycowork.workspace.landlock import Access
from anycowork.workspace.limits import can_count
from anycowork.workspace.sandbox import Sandbox
from anycowork.workspace.stage import Staging

STAGING_FOLDER = "staging"
_ENFORCES = (
    "a command sees the system read-only, its workspace, and a home and tmp of its own; nothing else of the machine",
    "what it changes in the workspace is checked as a whole, then committed together or dropped",
    "no network but to the hosts that the call names, through a proxy; no services of this machine, no signals to other processes",
    "limits on time, output, processes, memory per process, and the size of a file",
    "nothing of it is left running",
)
_FILES_HELD = "file tools work on threads that the kernel holds to what the role may do, in its workspace alone (not modes and times)"
_FILES_NOT_HELD = (
    "file tools are held by the server's own checks alone: this kernel has no Landlock, or does not let us use it"
)
_ALWAYS_MISSING = ("memory is limited for each process, not for all of a command's processes together",)
_UNCOUNTED = "the number of processes is not limited: the server runs as root, where only a cgroup could do that"
_UNSANDBOXED = (
    "commands run with the server's own rights: they can read and change whatever it can, and use the network",
    "so each one asks first, only roles that may change everything run any, and nothing undoes what they did",
)


@dataclass(frozen=True, slots=True)
class Containment:
    """`why` says what is missing where the level is not `full`."""

    level: SandboxLevel
    staging: Staging
    sandbox: Sandbox | None = None
    why: str | None = None
    enforces: tuple[str, ...] = ()
    does_not: tuple[str, ...] = _UNSANDBOXED

    @property
    def says(self) -> str:
        if self.level is SandboxLevel.FULL:
            return "full: commands run in a sandbox, and their changes are checked before they are kept"
        return f"{self.level.value}: commands run with your own rights, and each one asks you first ({self.why})"

    def as_json(self) -> Json:
        return {"level": self.level.value, "enforces": list(self.enforces), "does_not": list(self.does_not)}


@cache
def find_containment(data_dir: Path) -> Containment:
    """Tries the sandbox out as commands would use it, once. Blocking; makes the staging folder."""
    bubblewrap = look_for_bubblewrap()
    staging = Staging(data_dir / STAGING_FOLDER)
    level = sandbox_level(look_at_kernel(), bubblewrap)
    held, not_held = ((_FILES_HELD,), ()) if is_held(Access.REFER) else ((), (_FILES_NOT_HELD,))
    unsandboxed = (*_UNSANDBOXED, *not_held)
    if bubblewrap is None or level is not SandboxLevel.FULL:
        missing = "there is no bubblewrap that knows --overlay and can start here"
        return Containment(level, staging, why=missing, enforces=held, does_not=unsandboxed)
    sandbox = Sandbox(bubblewrap.path, staging, toolchains=_toolchains(data_dir))
    if why := sandbox.trial():
        lower = SandboxLevel.LANDLOCK if look_at_kernel().landlock_abi > 0 else SandboxLevel.NONE
        return Containment(lower, staging, why=why.splitlines()[-1][:300], enforces=held, does_not=unsandboxed)
    uncounted = os.geteuid() == 0 and not can_count()
    does_not = (*([_UNCOUNTED] if uncounted else []), *_ALWAYS_MISSING, *not_held)
    return Containment(level, staging, sandbox, enforces=(*_ENFORCES, *held), does_not=does_not)


@contextmanager
def tried_out(data_dir: Path) -> Iterator[Containment]:
    """For those who only want to know: leaves nothing behind where there is no data folder yet."""
    if data_dir.is_dir():
        yield find_containment(data_dir)
        return
    with tempfile.TemporaryDirectory(prefix="anycowork-") as folder:
        yield find_containment(Path(folder))


def _toolchains(data_dir: Path) -> list[str]:
    """The Python that runs us, where it is not the system's: environments in a workspace are often made with it."""
    base = Path(sys.base_prefix).resolve()
    holds_secrets = base in (Path("/"), Path.home().resolve()) or data_dir.resolve().is_relative_to(base)
    return [] if holds_secrets or base.is_relative_to("/usr") else [str(base)]
