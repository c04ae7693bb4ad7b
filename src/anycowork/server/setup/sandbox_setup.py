"""Sets up the confinement of commands and file tools on this machine: the sandbox if it works, its level, and its limits in plain words."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from anycowork.config.settings import Settings
from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import TOOL_VERSIONS
from anycowork.sandbox.git_identity import gitconfig_of, global_git_user
from anycowork.sandbox.layers.stage import MOST_CACHED, MOST_KEPT, Layer, Staging
from anycowork.sandbox.limits import can_count
from anycowork.sandbox.package_caches import PackageCaches, find_package_caches
from anycowork.sandbox.sandbox import MOST_COPIED, Sandbox
from anycowork.sandbox.toolchains import RefusedFolder, Toolchains, find_toolchains, tool_versions
from anycowork.sandbox.workspaces import home_folder
from anycowork.server.disk_usage import human_size
from anycowork.server.machine import Bubblewrap, SandboxLevel, find_bubblewrap, inspect_kernel, sandbox_level
from anycowork.workspace.landlock import Access
from anycowork.workspace.landlock_threads import is_held

STAGING_FOLDER = "staging"
ENFORCES = (
    "a command sees the system and the listed tools read-only, its workspace, and a private home and tmp; nothing else of the machine",
    "what it writes into the listed package caches stays in a layer of its workspace; the real caches never change",
    "its changes in the workspace are checked as a whole, then committed together or dropped",
    "no network except to the hosts that the call names, through a proxy; no services of this machine, no signals to other processes",
    "limits on time, output, processes, memory per process, and the size of a file",
    "no process of it is left running",
)
FILES_HELD = "file tools work on threads that the kernel limits to what the role may do, in its workspace only (except modes and times)"
FILES_NOT_HELD = (
    "file tools are limited only by the server's own checks: this kernel has no Landlock, or does not allow its use"
)
ALWAYS_MISSING = ("memory is limited for each process, not for all of a command's processes together",)
COPIED = (
    "no overlay can be mounted here ({why}), so a command works on a private copy of its workspace, which takes time and space; "
    "in one of more than {most} (command_copy_bytes) no command runs"
)
SOMETIMES_COPIED = (
    "a workspace with other mounts in it is copied for each command; in one of more than {most} (command_copy_bytes) "
    "no command runs then"
)
UNCOUNTED = "the number of processes is not limited: the server runs as root, where only a cgroup could do that"
UNSANDBOXED = (
    "commands run with the server's own rights: they can read and change whatever it can, and use the network",
    "so each one asks first, only roles that may change everything run any, and nothing undoes what they did",
)


@value
class SandboxSetup:
    """`why` says what is missing if the level is not `full`, or if commands need a copy of the workspace."""

    level: SandboxLevel
    staging: Staging
    sandbox: Sandbox | None = None
    why: str | None = None
    enforces: tuple[str, ...] = ()
    does_not: tuple[str, ...] = UNSANDBOXED

    @property
    def layer(self) -> Layer | None:
        """Returns where commands write to; None if they write to the workspace itself."""
        return self.sandbox.layer if self.sandbox else None

    @property
    def toolchains(self) -> Toolchains:
        """Returns what commands see besides the system and their workspace."""
        return self.sandbox.toolchains if self.sandbox else Toolchains()

    @property
    def packages(self) -> PackageCaches:
        """Returns the package caches that commands see."""
        return self.sandbox.packages if self.sandbox else PackageCaches()

    @property
    def summary(self) -> str:
        if self.level is SandboxLevel.FULL:
            where = "" if self.layer is Layer.OVERLAY else " on a private copy of the workspace"
            return f"full: commands run in a sandbox{where}, and their changes are checked before they are kept"
        return f"{self.level.value}: commands run with your own rights, and each one asks you first ({self.why})"

    def as_json(self) -> Json:
        return {
            "level": self.level.value,
            "layer": self.layer.value if self.layer else None,
            "enforces": list(self.enforces),
            "does_not": list(self.does_not),
            "visible": list(self.toolchains.folders),
            "caches": [cache.folder for cache in self.packages.found],
            "hidden": [*self.toolchains.hidden, *self.packages.hidden],
            "refused": [
                f"{folder.path}: {folder.why}" for folder in (*self.toolchains.refused, *self.packages.refused)
            ],
        }


@value
class DiskBudgets:
    """Limits in bytes for commands: for a copied workspace, for caches, and for kept changes that could not be made."""

    copied: int = MOST_COPIED
    cached: int = MOST_CACHED
    kept: int = MOST_KEPT

    @classmethod
    def of(cls, settings: Settings) -> "DiskBudgets":
        return cls(settings.command_copy_bytes, settings.command_cache_bytes, settings.kept_changes_bytes)


DEFAULT_BUDGETS = DiskBudgets()


@cache
def set_up_sandbox(
    data_dir: Path, budgets: DiskBudgets = DEFAULT_BUDGETS, sandbox_paths: tuple[str, ...] = ()
) -> SandboxSetup:
    """Tries the sandbox once, in the way commands use it. Blocking; creates the staging folder."""
    bubblewrap = find_bubblewrap()
    tools = visible_tools(data_dir, sandbox_paths, os.environ)
    packages = find_package_caches(os.environ, home=home_folder(), data_dir=data_dir)
    staging = Staging(
        data_dir / STAGING_FOLDER,
        most_cached=budgets.cached,
        most_kept=budgets.kept,
        own_etc={
            "gitconfig": gitconfig_of(global_git_user(home_folder(), os.environ)),
            TOOL_VERSIONS: tool_versions(home_folder(), os.environ),
        },
    )
    enforced, not_held = ((FILES_HELD,), ()) if is_held(Access.REFER) else ((), (FILES_NOT_HELD,))
    sandbox, reason = (
        (None, "there is no bubblewrap")
        if bubblewrap is None
        else _tried(bubblewrap, staging, tools, packages, budgets.copied)
    )
    if sandbox is None:
        level = sandbox_level(inspect_kernel(), None)
        return SandboxSetup(level, staging, why=reason, enforces=enforced, does_not=(*UNSANDBOXED, *not_held))
    copied = SOMETIMES_COPIED if sandbox.layer is Layer.OVERLAY else COPIED
    uncounted = os.geteuid() == 0 and not can_count()
    does_not = (
        *([UNCOUNTED] if uncounted else []),
        *ALWAYS_MISSING,
        copied.format(why=reason, most=human_size(budgets.copied)),
        *not_held,
    )
    return SandboxSetup(SandboxLevel.FULL, staging, sandbox, reason, enforces=(*ENFORCES, *enforced), does_not=does_not)


def _tried(
    bubblewrap: Bubblewrap, staging: Staging, tools: Toolchains, packages: PackageCaches, copy_bytes: int
) -> tuple[Sandbox | None, str | None]:
    """Returns the best sandbox that works, and why a better one does not."""
    reason: str | None = None if bubblewrap.overlay else "this bubblewrap does not know --overlay"
    for layer in (Layer.OVERLAY, Layer.COPY) if bubblewrap.overlay else (Layer.COPY,):
        sandbox = Sandbox(bubblewrap.path, staging, toolchains=tools, layer=layer, most_copied=copy_bytes)
        failed = sandbox.trial()
        if failed is None:
            sandbox.packages = usable_packages(sandbox, packages)
            return sandbox, reason
        reason = failed.splitlines()[-1][:300]
    return None, reason


def usable_packages(sandbox: Sandbox, packages: PackageCaches) -> PackageCaches:
    """Returns the caches if the sandbox works with them: a cache that cannot be mounted must not stop commands."""
    if sandbox.layer is Layer.COPY or not packages.found:
        reason = "there are no overlays here, which would keep it from being changed"
    else:
        sandbox.packages = packages
        if (failed := sandbox.trial()) is None:
            return packages
        reason = f"the caches cannot be mounted ({failed.splitlines()[-1][:300]})"
    refused = (RefusedFolder(cache.folder, reason) for cache in packages.found)
    return PackageCaches(refused=(*packages.refused, *refused))


@contextmanager
def try_sandbox(data_dir: Path, budgets: DiskBudgets, sandbox_paths: tuple[str, ...]) -> Iterator[SandboxSetup]:
    """For a mere check: leaves nothing behind if there is no data folder yet."""
    if data_dir.is_dir():
        yield set_up_sandbox(data_dir, budgets, sandbox_paths)
        return
    with tempfile.TemporaryDirectory(prefix="anycowork-") as folder:
        yield set_up_sandbox(Path(folder), budgets, sandbox_paths)


def visible_tools(data_dir: Path, named_folders: Sequence[str], environ: Mapping[str, str]) -> Toolchains:
    """Returns what commands may see of the tools of the user who started the server. Blocking."""
    return find_toolchains(
        environ.get("PATH", ""),
        home=home_folder(),
        data_dir=data_dir,
        configured_folders=named_folders,
        always_visible=_own_python(data_dir),
    )


def _own_python(data_dir: Path) -> list[str]:
    """Returns the Python that runs us, if it is not the system's: environments in a workspace are often made with it."""
    base = Path(sys.base_prefix).resolve()
    holds_secrets = base in (Path("/"), home_folder().resolve()) or data_dir.resolve().is_relative_to(base)
    return [] if holds_secrets or base.is_relative_to("/usr") else [str(base)]
