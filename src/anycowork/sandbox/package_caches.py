"""Finds the package caches of the user who started the server, and mounts them for commands so that no write reaches the real ones.

Each is one known folder that holds nothing but packages: the settings and credentials beside it are not part of it. Commands see it below
a layer of their workspace, which takes what they write.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from anycowork.domain.values import value
from anycowork.sandbox.layers.mounts import Overlay
from anycowork.sandbox.layers.stage import PACKAGE_WORK, Layer, Stage
from anycowork.sandbox.layers.staging_folders import Runner
from anycowork.sandbox.secrets.masks import cover_for
from anycowork.sandbox.secrets.secret_paths import is_secret_name, scan_folder
from anycowork.sandbox.toolchains import RefusedFolder, overlap, why_too_broad, why_unsafe

_MOST_SEARCHED = 1_000  # entries of one cache that are searched for credentials
_DEEPEST = 2
_LONGEST_OPTIONS = 1_000  # bytes for each: all of them are in the argument that checks the mounts


@value
class KnownCache:
    """Where one package manager keeps packages. `folder` is below the home folder, or, starting with `.cache`, below the folder for caches.

    `variables` name another folder, each with the part below it. `inside` tells the manager where the cache is in the sandbox, where
    `target` below its home is not the place it expects. `left_out` are parts that can hold credentials, or more than packages.
    """

    name: str
    folder: str
    variables: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    inside: str = ""
    left_out: tuple[str, ...] = ()


# Not below `~/.cache` in the sandbox: commands write there, so a mount point could be a link that they made.
_OWN = ".package-caches"
_KNOWN = (
    KnownCache("npm", ".npm/_cacache", {"npm_config_cache": "_cacache"}),
    KnownCache("pip", ".cache/pip", {"PIP_CACHE_DIR": ""}, f"{_OWN}/pip", "PIP_CACHE_DIR"),
    # Repositories of git remember the address that they came from, which may hold a password.
    KnownCache("uv", ".cache/uv", {"UV_CACHE_DIR": ""}, f"{_OWN}/uv", "UV_CACHE_DIR", ("git-v0",)),
    KnownCache("yarn", ".cache/yarn", {"YARN_CACHE_FOLDER": ""}, f"{_OWN}/yarn", "YARN_CACHE_FOLDER"),
    KnownCache("yarn-berry", ".yarn/berry/cache"),
    KnownCache("pnpm", ".local/share/pnpm/store"),
    KnownCache("bun", ".bun/install/cache", {"BUN_INSTALL_CACHE_DIR": ""}, f"{_OWN}/bun", "BUN_INSTALL_CACHE_DIR"),
    KnownCache("deno", ".cache/deno", {"DENO_DIR": ""}, f"{_OWN}/deno", "DENO_DIR", ("location_data", "deno_history.txt")),
    KnownCache("cargo", ".cargo/registry", {"CARGO_HOME": "registry"}),
    KnownCache("go", "go/pkg/mod", {"GOMODCACHE": "", "GOPATH": "pkg/mod"}, left_out=("cache/vcs",)),
    KnownCache("maven", ".m2/repository"),
    KnownCache("gradle", ".gradle/caches/modules-2", {"GRADLE_USER_HOME": "caches/modules-2"}),
    KnownCache("gradle-wrapper", ".gradle/wrapper/dists", {"GRADLE_USER_HOME": "wrapper/dists"}),
    KnownCache("nuget", ".nuget/packages", {"NUGET_PACKAGES": ""}),
)  # fmt: skip


@value
class PackageCache:
    """A real cache that commands see. `target` is below the home of the sandbox; `hidden` are paths in it that stay covered."""

    name: str
    folder: str
    target: str
    variable: str = ""
    hidden: tuple[str, ...] = ()


@value
class PackageCaches:
    """The caches that commands see, and those that they do not, with the reason."""

    found: tuple[PackageCache, ...] = ()
    refused: tuple[RefusedFolder, ...] = ()

    @property
    def hidden(self) -> tuple[str, ...]:
        """Returns what is covered in the caches, at its real path, if it exists."""
        paths = (f"{cache.folder}/{hidden}" for cache in self.found for hidden in cache.hidden)
        return tuple(path for path in paths if _lstat(path) is not None)


@value
class PackageMount:
    """One cache in one sandbox: its overlay, the arguments that cover what is hidden in it, and the variable that leads to it."""

    overlay: Overlay
    covers: tuple[str, ...] = ()
    variable: str = ""


def find_package_caches(environ: Mapping[str, str], *, home: Path, data_dir: Path) -> PackageCaches:
    """Returns the caches that exist, where these variables or the managers' own defaults place them. Blocking."""
    real_home, data = home.resolve(), data_dir.resolve()
    caches: list[PackageCache] = []
    refused: list[RefusedFolder] = []
    for known_cache in _KNOWN:
        folder = _cache_folder(known_cache, environ, real_home)
        if not folder.is_dir():
            continue
        real = folder.resolve()
        reason = _why_not(folder, real, known_cache.folder, home=real_home, data_dir=data)
        if reason is None:
            caches.append(_package_cache(known_cache, real))
        else:
            refused.append(RefusedFolder(str(folder), reason))
    return PackageCaches(tuple(caches), tuple(refused))


def mount_packages(
    caches: Iterable[PackageCache], root: str, stage: Stage, *, home: str, layer: Path | None, writes_kept: bool
) -> Iterator[PackageMount]:
    """Yields how a command in this workspace sees the caches; leaves out those that its user does not own, and that no overlay holds.

    `layer` is the workspace's own, lent to this command alone; with `writes_kept`, writes stay there, else they are lost. Blocking.
    """
    if stage.layer is Layer.COPY:
        return  # there are no overlays here
    layers = None if layer is None else str(layer.resolve())
    work = str(stage.folder.resolve() / PACKAGE_WORK) if writes_kept and layers and stage.layer is not None else None
    if work is not None:
        _make_folder(work, stage.runner)
    for cache in caches:
        if not _is_owned(cache.folder, stage.runner) or overlap(Path(cache.folder), Path(root)):
            continue
        own_layer = None if layers is None else _own_layer(cache, layers, stage.runner, make=work is not None)
        overlay = _overlay(cache, own_layer, stage.runner, work, f"{home}/{cache.target}")
        if overlay.fits(_LONGEST_OPTIONS):
            yield PackageMount(overlay, tuple(_covers(cache, stage, overlay.target)), cache.variable)


def _cache_folder(known_cache: KnownCache, environ: Mapping[str, str], home: Path) -> Path:
    for variable, below in known_cache.variables.items():
        configured = environ.get(variable, "").split(":")[0]
        if configured.startswith("/"):
            return Path(configured, below)
    caches = environ.get("XDG_CACHE_HOME", "")
    first, _, remainder = known_cache.folder.partition("/")
    return Path(caches, remainder) if first == ".cache" and caches.startswith("/") else home / known_cache.folder


def _why_not(folder: Path, real: Path, usual: str, *, home: Path, data_dir: Path) -> str | None:
    if folder.is_symlink():
        return "it is a link; name the folder itself in the package manager's own setting"
    if real != home / usual and is_secret_name(real):
        return "it is a place of credentials"
    return why_too_broad(real, home=home, data_dir=data_dir) or why_unsafe(real, real.stat())


def _package_cache(known_cache: KnownCache, real: Path) -> PackageCache:
    left_out = [real / path for path in known_cache.left_out]
    secrets = [
        path
        for path in map(Path, scan_folder(real, most=_MOST_SEARCHED, deepest=_DEEPEST).found)
        if not any(path.is_relative_to(other) for other in left_out)
    ]
    hidden = tuple(str(path.relative_to(real)) for path in (*left_out, *secrets))
    return PackageCache(
        known_cache.name, str(real), known_cache.target or known_cache.folder, known_cache.inside, hidden
    )


def _is_owned(folder: str, runner: Runner) -> bool:
    """Only what the command's user owns can be copied into its layer. Also False if it is gone since the start."""
    status = _lstat(folder)
    return status is not None and stat.S_ISDIR(status.st_mode) and status.st_uid == runner.uid


def _own_layer(cache: PackageCache, layers: str, runner: Runner, *, make: bool) -> str | None:
    """Returns the workspace's layer over this cache, if there is one and it leads no cover elsewhere."""
    layer = f"{layers}/{cache.name}"
    status = _lstat(layer)
    if status is None:
        if not make:
            return None
        _make_folder(layer, runner)
        return layer
    return layer if stat.S_ISDIR(status.st_mode) and all(_is_plain(layer, hidden) for hidden in cache.hidden) else None


def _is_plain(layer: str, hidden: str) -> bool:
    """Tells whether no command replaced this path, or a folder above it: bubblewrap would follow a link there when it mounts the cover."""
    path = layer
    for part in hidden.split("/"):
        path = f"{path}/{part}"
        status = _lstat(path)
        if status is None:
            return True  # the real one is seen from here on
        if not stat.S_ISDIR(status.st_mode):
            return False
    return True


def _overlay(cache: PackageCache, own_layer: str | None, runner: Runner, work: str | None, target: str) -> Overlay:
    if own_layer is None:
        return Overlay((cache.folder,), target)
    if work is None:
        return Overlay((cache.folder, own_layer), target)
    work = f"{work}/{cache.name}"
    _make_folder(work, runner)
    return Overlay((cache.folder,), target, upper=own_layer, work=work)


def _make_folder(folder: str, runner: Runner) -> None:
    Path(folder).mkdir(mode=0o700)
    if not runner.is_us:
        os.chown(folder, runner.uid, runner.gid)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _covers(cache: PackageCache, stage: Stage, target: str) -> Iterator[str]:
    for hidden in cache.hidden:
        status = _lstat(f"{cache.folder}/{hidden}")
        if status is not None and not stat.S_ISLNK(status.st_mode):
            cover = cover_for(stage, is_folder=stat.S_ISDIR(status.st_mode))
            yield from ("--ro-bind", str(cover), f"{target}/{hidden}")
