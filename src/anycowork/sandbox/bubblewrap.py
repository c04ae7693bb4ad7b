"""Builds the arguments that start bubblewrap around one command. Pure: everything that a run gets is stated here.

Every flag has a tested reason, listed in `docs/security.md`.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import assert_never

from anycowork.domain.values import replace, value
from anycowork.sandbox.layers.mounts import Overlay, mount_words, mountable
from anycowork.sandbox.layers.stage import DEVICES, Layer, Stage
from anycowork.sandbox.layers.staging_folders import Runner
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.package_caches import PackageMount
from anycowork.sandbox.toolchains import Toolchains

HOME = "/home/sandbox"
_CACHE = f"{HOME}/.cache"
TOOL_VERSIONS = "tool-versions"  # in /etc; asdf expects it in the home folder
_TOOL_VERSIONS = f"{HOME}/.tool-versions"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Read-only; never /.
_SYSTEM = ("/usr", "/nix/store")
_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


@value
class SandboxView:
    """What a command sees: at `root` the files of `source`, if those are other folders: laid over each other, the topmost last.

    `cache` is the workspace's cache, if it gets one, and `cache_kept` whether its writes there stay;
    `packages` are the person's package caches; `environment` adds variables, such as those for the network, and its PATH is
    searched before the usual one; `masks` are the arguments
    that cover what it may not read, and `hidden_tools` those that cover credentials among the toolchains."""

    root: str
    stage: Stage
    cache: Path | None
    cache_kept: bool
    toolchains: Toolchains = field(default_factory=Toolchains)
    packages: tuple[PackageMount, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    sight: "VisiblePaths" = field(default_factory=lambda: VisiblePaths())
    masks: tuple[str, ...] = ()
    hidden_tools: tuple[str, ...] = ()
    source: tuple[str, ...] = ()

    @property
    def lower(self) -> tuple[str, ...]:
        return self.source or (self.root,)


@value
class VisiblePaths:
    """What foreign code sees: the usual, `paths` (absolute, read-only) without `hidden`, and the workspace or not.

    `home` is a folder that is kept and is its home folder; without one its home folder is empty and in memory.
    """

    paths: tuple[str, ...] = ()
    workspace: bool = True
    hidden: tuple[str, ...] = ()
    home: str | None = None


@value
class Descriptors:
    """Descriptors that bubblewrap uses besides the command's own streams.

    If there is a `latch`, it waits there before the command starts.
    """

    seccomp: int
    status: int
    latch: int | None = None

    def all(self) -> tuple[int, ...]:
        return tuple(fd for fd in (self.seccomp, self.status, self.latch) if fd is not None)


def bubblewrap_arguments(bwrap: str, around: SandboxView, limits: CommandLimits, descriptors: Descriptors) -> list[str]:
    """Returns all arguments before the command itself."""
    stage, scratch, overlay = around.stage, str(limits.scratch), _workspace_overlay(around)
    return [
        *([] if overlay is None else mount_words(overlay)),
        bwrap,
        *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
        *_user(overlay, stage.runner),
        *("--new-session", "--die-with-parent", "--hostname", "sandbox"),
        *("--seccomp", str(descriptors.seccomp), "--json-status-fd", str(descriptors.status)),
        *(() if descriptors.latch is None else ("--block-fd", str(descriptors.latch))),
        *_system_binds(),
        *("--ro-bind", str(stage.etc), "/etc"),
        *("--proc", "/proc", "--dev", "/dev"),
        *_own_devices(stage),
        *("--size", scratch, "--perms", "1777", "--tmpfs", "/tmp"),
        *("--size", scratch, "--perms", "1777", "--tmpfs", "/dev/shm"),
        *_home(around, scratch),
        *_cache(around, scratch),
        # After the in-memory folders: a toolchain may be below /tmp.
        *[word for folder in around.toolchains.folders for word in ("--ro-bind-try", folder, folder)],
        *[word for mount in around.packages for word in (*mount.overlay.arguments(), *mount.covers)],
        *[word for folder in around.sight.paths for word in ("--ro-bind", folder, folder)],
        *around.hidden_tools,
        *_workspace(around, overlay),
        *around.masks,
        # Last, because the mounts above need their mount points. With a writable /proc, root could change the machine's settings.
        *("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", around.root if around.sight.workspace else HOME if around.sight.home else "/tmp"),
        *("--clearenv", *_environment(around)),
        "--",
    ]


def overlays(around: SandboxView) -> tuple[Overlay, ...]:
    """Returns every overlay in the arguments, for comparison with what the kernel mounts."""
    own_overlays = (overlay for overlay in (_cache_overlay(around), _workspace_overlay(around)) if overlay is not None)
    return (*own_overlays, *(mount.overlay for mount in around.packages))


def _user(overlay: Overlay | None, runner: Runner) -> list[str]:
    """Within the namespace of a mounted layer the user has the number 0; the command shall see the usual one."""
    if overlay is None or overlay.mounted_at is None:
        return []
    return ["--uid", str(runner.uid), "--gid", str(runner.gid)]


def _environment(around: SandboxView) -> list[str]:
    """Passes nothing of the server's environment, which may hold secrets."""
    toolchains = around.toolchains
    first = around.environment.get("PATH", "").split(":") if "PATH" in around.environment else []
    path = ":".join(dict.fromkeys([*first, *toolchains.path, *SYSTEM_PATH.split(":")]))
    variables = {
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GIT_CONFIG_SYSTEM": "/etc/gitconfig",
        "GIT_OPTIONAL_LOCKS": "0",  # looking at a repository changes nothing in it
        "MISE_GLOBAL_CONFIG_FILE": _TOOL_VERSIONS,
        **toolchains.environment,
        **{mount.variable: mount.overlay.target for mount in around.packages if mount.variable},
        **around.environment,
        "PATH": path,
    }
    return [word for name, value in variables.items() for word in ("--setenv", name, value)]


@cache
def _system_binds() -> tuple[str, ...]:
    arguments: list[str] = []
    for folder in _SYSTEM:
        arguments += ["--ro-bind-try", folder, folder]
    for folder in _MERGED:
        path = Path(folder)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            arguments += ["--ro-bind", folder, folder]
    return tuple(arguments)


def _own_devices(stage: Stage) -> list[str]:
    if stage.devices is None:
        return []
    return [word for name in DEVICES for word in ("--dev-bind", f"{stage.devices}/{name}", f"/dev/{name}")]


def _workspace(around: SandboxView, overlay: Overlay | None) -> list[str]:
    match around.stage.layer:
        case Layer.OVERLAY:
            return [] if overlay is None else overlay.arguments()
        case Layer.COPY:
            return ["--bind", str(around.stage.upper), around.root]
        case None:
            if not around.sight.workspace:
                return []
            return ["--ro-bind", *around.lower, around.root] if overlay is None else overlay.arguments()
        case _:
            assert_never(around.stage.layer)


def _workspace_overlay(around: SandboxView) -> Overlay | None:
    if around.stage.layer is None and len(around.lower) > 1:
        return Overlay(around.lower, around.root, read_only=True) if around.sight.workspace else None
    if around.stage.layer is not Layer.OVERLAY:
        return None
    folder = _resolved(around.stage.folder)
    overlay = Overlay(around.lower, around.root, upper=f"{folder}/upper", work=f"{folder}/work")
    if around.stage.mount is None or not mountable(overlay):
        return overlay
    return replace(overlay, mounted_at=f"{folder}/{around.stage.mount.name}")


def _home(around: SandboxView, scratch: str) -> list[str]:
    """Nothing is mounted inside a folder that is kept: its owner may have put a link there."""
    if around.sight.home is not None:
        return ["--bind", around.sight.home, HOME]
    versions = ["--ro-bind-try", f"{around.stage.etc}/{TOOL_VERSIONS}", _TOOL_VERSIONS]
    return ["--size", scratch, "--perms", "0700", "--tmpfs", HOME, *versions]


def _cache(around: SandboxView, scratch: str) -> list[str]:
    if around.cache is None:
        return []
    if around.cache_kept:
        return ["--bind", str(around.cache), _CACHE]
    overlay = _cache_overlay(around)
    if overlay is not None:
        return overlay.arguments()
    # Empty: there is nothing to lay over the cache.
    return ["--size", scratch, "--perms", "0700", "--tmpfs", _CACHE]


def _cache_overlay(around: SandboxView) -> Overlay | None:
    if around.cache is None or around.cache_kept or around.stage.layer is Layer.COPY:
        return None
    overlay = Overlay((_resolved(around.cache),), _CACHE)
    return overlay if overlay.fits() else None


def _resolved(folder: Path) -> str:
    """Resolves links above the folder as bubblewrap does before it mounts, because the kernel lists what it was given."""
    parent, _, name = str(folder).rpartition("/")
    return f"{_resolve(parent)}/{name}"


@cache
def _resolve(folder: str) -> str:
    return str(Path(folder).resolve())
