"""The person's own tools that commands may see: folders named by a PATH or by a setting, read-only, without the credentials beside them.

Found once, by looking at the named folders themselves and at no whole trees. Version managers keep programs apart from what these
need, so each is followed to its folders; a folder of links is followed to what the links lead to, never to the home folder.
"""

import os
import stat
import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from anycowork.domain.values import mutable_value, value
from anycowork.sandbox.secrets.secret_paths import SecretScan, holds_secret, is_secret_name, scan_folder

SYSTEM = ("/usr", "/nix/store", "/bin", "/sbin", "/lib", "/lib64")  # every sandbox sees these
_PROGRAM_FOLDERS = ("bin", "sbin", "shims", "condabin")
# What lies beside `bin` where a folder is one toolchain, and not a person's own.
_MARKS = ("lib", "lib64", "libexec", "conda-meta", "pyvenv.cfg", "jmods", "Cellar", "pkg", "versions", "tools")
# Folders of which nothing but the named one is shown, whatever lies beside it.
_SHARED_PARENTS = (".local", ".cargo", ".config", ".cache", ".local/share", "go", "Library", "snap", "projects", "src")
# A folder below home in PATH: the other folders that its programs need, and the variables that lead them there.
_MANAGERS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    ".cargo/bin": ((".rustup",), {"RUSTUP_HOME": ".rustup"}),
    ".pyenv/shims": ((".pyenv",), {"PYENV_ROOT": ".pyenv"}),
    ".pyenv/bin": ((".pyenv",), {"PYENV_ROOT": ".pyenv"}),
    ".rbenv/shims": ((".rbenv",), {"RBENV_ROOT": ".rbenv"}),
    ".asdf/shims": ((".asdf",), {"ASDF_DIR": ".asdf", "ASDF_DATA_DIR": ".asdf"}),
    ".local/share/mise/shims": ((".local/share/mise",), {"MISE_DATA_DIR": ".local/share/mise"}),
    ".volta/bin": ((".volta",), {"VOLTA_HOME": ".volta"}),
    ".bun/bin": ((".bun",), {"BUN_INSTALL": ".bun"}),
    ".sdkman/bin": ((".sdkman/candidates",), {}),
}
_SDKMAN = ".sdkman/candidates"
_HOMEBREW = "/home/linuxbrew/.linuxbrew"
_CLOSED = ("/proc", "/sys", "/dev", "/etc", "/boot", "/run", "/var/run", "/lost+found")
_CHANGING = ("/proc", "/sys", "/dev")  # links in there lead elsewhere for every program
_TOO_WIDE = ("/", "/home", "/opt", "/var", "/srv", "/mnt", "/media", "/root", "/tmp", "/var/tmp", "/usr/local")
_MOST_FOLDERS = 64
_MOST_LINKS = 1_000
_LARGEST = 65_536  # bytes
_LONGEST = 100  # characters of a name or a version
_MOST = 200  # tools
_IN_VERSION = frozenset(string.ascii_letters + string.digits + "._+-")
_IN_NAME = _IN_VERSION | frozenset(":@/")


@value
class RefusedFolder:
    """A folder that commands do not see, and why."""

    path: str
    why: str
    named: bool = False  # by the setting, not by a PATH


@value
class Toolchains:
    """`folders` are visible read-only at their own paths, without `hidden`. `path` is where commands search for programs, in order.
    `outside` is the PATH that was read: programs found there but not by commands are reported to the person. `scans` are what the
    folders held of credentials when they were found."""

    folders: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[RefusedFolder, ...] = ()
    outside: str = ""
    scans: Mapping[str, SecretScan] = field(default_factory=dict)

    def beside(self, root: str) -> "Toolchains":
        """Drops what overlaps this workspace: a command could have written the programs there."""
        workspace = Path(root)
        return self.only(folder for folder in self.folders if not overlap(Path(folder), workspace))

    def only(self, folders: Iterable[str]) -> "Toolchains":
        """Keeps only these folders, and what leads into them."""
        kept_folders = tuple(folders)
        return Toolchains(
            kept_folders,
            tuple(path for path in self.path if _is_in(path, SYSTEM) or _is_in(path, kept_folders)),
            tuple(path for path in self.hidden if _is_in(path, kept_folders)),
            {name: value for name, value in self.environment.items() if _is_in(value, kept_folders)},
            self.refused,
            self.outside,
            {folder: scan for folder, scan in self.scans.items() if folder in kept_folders},
        )


def find_toolchains(
    path: str, *, home: Path, data_dir: Path, configured_folders: Sequence[str] = (), always_visible: Sequence[str] = ()
) -> Toolchains:
    """Returns what this PATH and the `configured_folders` folders let commands see. Folders in `always_visible` are always visible. Blocking."""
    search = _Search(home.resolve(), data_dir.resolve())
    for entry in path.split(":"):
        search.add_entry(entry)
    for text in configured_folders:
        search.add_named(text)
    for folder in always_visible:
        search.add_own(folder)
    return search.result(path)


def why_not_visible(folder: Path, *, home: Path, data_dir: Path) -> str | None:
    """Returns why commands may not see this folder, links resolved, or None."""
    reason = why_too_broad(folder, home=home, data_dir=data_dir.resolve())
    return reason or ("it is a place of credentials" if is_secret_name(folder) else None)


def why_too_broad(folder: Path, *, home: Path, data_dir: Path) -> str | None:
    """Returns why this folder holds more than tools or packages, or None. All paths are resolved."""
    if _is_in(str(folder), _CLOSED):
        return "it belongs to the running system"
    if str(folder) in _TOO_WIDE or home.is_relative_to(folder):
        return "it is too broad: it holds the home folder, or folders of several people or programs"
    if overlap(data_dir, folder):
        return "it holds the data folder of this server, or lies in it"
    if folder.is_relative_to(home) and str(folder.relative_to(home)) in _SHARED_PARENTS[:5]:
        return "it holds the settings and credentials of many programs"
    return None


@mutable_value
class _Search:
    home: Path
    data_dir: Path
    folders: dict[str, None] = field(default_factory=dict)
    path: dict[str, None] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    configured: set[str] = field(default_factory=set)

    def add_entry(self, entry: str) -> None:
        """Adds one entry of a PATH."""
        if not entry:
            return
        if not entry.startswith("/"):
            self.refused[entry] = "it is not an absolute path"
            return
        if _is_in(entry, _CHANGING):
            self.refused[entry] = "it belongs to the running system"
            return
        if _is_in(entry, SYSTEM):
            self.path[entry] = None
            return
        real = self._usable(entry)
        if real is None:
            return
        visible = toolchain_of(real, self.home)
        if visible is None or not self._show(visible):
            visible = real
            if not self._show(real):
                return
        self._follow_manager(real)
        if visible == real:
            self._follow_links(real)
        self._follow_interpreter(visible)
        self.path[str(real)] = None

    def add_named(self, text: str) -> None:
        """Adds a folder of the setting: all of it is visible, and its programs are found."""
        self.configured.add(text)
        try:
            folder = Path(text).expanduser()
        except RuntimeError:
            self.refused[text] = "its home folder is not known"
            return
        if not folder.is_absolute():
            self.refused[text] = "it is not an absolute path"
            return
        self.configured.add(str(folder))
        real = self._usable(str(folder))
        if real is None:
            if str(folder) not in self.refused:
                self.refused[text] = "there is no such folder"
            return
        self.configured.add(str(real))
        if self._show(real):
            self.path[str(real / "bin" if (real / "bin").is_dir() else real)] = None

    def add_own(self, folder: str) -> None:
        self.folders[folder] = None
        self.path[f"{folder}/bin"] = None

    def result(self, outside: str) -> Toolchains:
        ordered = sorted(self.folders, key=len)
        apart: list[str] = []
        for folder in ordered:  # the wider one includes what is in it
            if not _is_in(folder, apart):
                apart.append(folder)
        scans = {folder: scan_folder(Path(folder)) for folder in apart if Path(folder).is_dir()}
        hidden = tuple(path for scan in scans.values() for path in scan.found)
        return Toolchains(tuple(apart), tuple(self.path), hidden, self.environment, self._all_refused(), outside, scans)

    def _all_refused(self) -> tuple[RefusedFolder, ...]:
        return tuple(RefusedFolder(path, reason, path in self.configured) for path, reason in self.refused.items())

    def _usable(self, entry: str) -> Path | None:
        """Returns the real folder, if it exists and only its owner can write to it."""
        try:
            real = Path(entry).resolve(strict=True)
            status = real.stat()
        except (OSError, RuntimeError):
            return None
        if not stat.S_ISDIR(status.st_mode):
            self.refused[entry] = "it is not a folder"
        elif reason := why_unsafe(real, status):
            self.refused[entry] = reason
        else:
            return real
        return None

    def _show(self, path: Path) -> bool:
        if _is_in(str(path), SYSTEM) or _is_in(str(path), self.folders):
            return True
        reason = why_not_visible(path, home=self.home, data_dir=self.data_dir)
        if reason is None and path.is_file() and holds_secret(path):
            reason = "it holds credentials"
        if reason is None and len(self.folders) >= _MOST_FOLDERS:
            reason = f"more than {_MOST_FOLDERS} folders are named already"
        if reason is not None:
            self.refused[str(path)] = reason
            return False
        self.folders[str(path)] = None
        return True

    def _follow_manager(self, real: Path) -> None:
        if not real.is_relative_to(self.home):
            return
        below = str(real.relative_to(self.home))
        needed, variables = _MANAGERS.get(below, ((), {}))
        if below.startswith(f"{_SDKMAN}/"):
            needed = (_SDKMAN,)
        for name in needed:
            if (folder := self._usable(str(self.home / name))) is not None and self._show(folder):
                self.environment |= {
                    key: str(self.home / target) for key, target in variables.items() if target == name
                }

    def _follow_links(self, folder: Path) -> None:
        """Follows links from a folder of programs to the toolchains that these are part of."""
        try:
            entries = list(os.scandir(folder))[:_MOST_LINKS]
        except OSError:
            return
        for entry in entries:
            if not entry.is_symlink():
                continue
            try:
                target = Path(entry.path).resolve(strict=True)
                status = target.stat()
            except (OSError, RuntimeError):
                continue
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o111 and not status.st_mode & stat.S_IWOTH:
                self._show_program(target)

    def _show_program(self, program: Path) -> None:
        if is_secret_name(program):
            self.refused[str(program)] = "it is a place of credentials"
            return
        toolchain = toolchain_of(program.parent, self.home)
        if toolchain is not None and self._show(toolchain):
            self._follow_interpreter(toolchain)
        else:
            self._show(program)

    def _follow_interpreter(self, toolchain: Path) -> None:
        """A Python environment needs the Python that created it."""
        if not (toolchain / "pyvenv.cfg").is_file():
            return
        try:
            python = (toolchain / "bin" / "python").resolve(strict=True)
        except (OSError, RuntimeError):
            return
        if not python.is_relative_to(toolchain):
            base = toolchain_of(python.parent, self.home)
            self._show(base or python)


def toolchain_of(programs: Path, home: Path) -> Path | None:
    """Returns the folder that these programs belong to, if it is only a toolchain; None if only the programs themselves are to be visible."""
    if programs.is_relative_to(_HOMEBREW):
        return Path(_HOMEBREW)
    if programs.name not in _PROGRAM_FOLDERS:
        return None
    folder = programs.parent
    if home.is_relative_to(folder) or str(folder) in _TOO_WIDE:
        return None
    if folder.is_relative_to(home) and str(folder.relative_to(home)) in _SHARED_PARENTS:
        return None
    return folder if any((folder / mark).exists() for mark in _MARKS) else None


def why_unsafe(folder: Path, status: os.stat_result) -> str | None:
    """Tells whether somebody else could put programs there, or replace a folder on the way to it."""
    if status.st_mode & stat.S_IWOTH:
        return "everybody can write to it"
    for path_status in (status, *(above.stat() for above in folder.parents)):
        if path_status.st_uid not in (0, os.geteuid()):
            return "it belongs to another user, or lies in a folder that does"
        if path_status.st_mode & stat.S_IWOTH and not path_status.st_mode & stat.S_ISVTX:
            return "it lies in a folder that everybody can write to"
    return None


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def overlap(first: Path, second: Path) -> bool:
    return first.is_relative_to(second) or second.is_relative_to(first)


def tool_versions(home: Path, environ: Mapping[str, str]) -> str:
    """Returns the defaults of asdf and mise in the form of a .tool-versions file; empty if there are none. Blocking."""
    config = Path(environ.get("MISE_CONFIG_DIR") or Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "mise"))
    tools = _mise_tools(_text_of(config / "config.toml")) | _asdf_tools(_text_of(home / ".tool-versions"))
    return "".join(f"{name} {' '.join(versions)}\n" for name, versions in list(tools.items())[:_MOST])


def _asdf_tools(text: str) -> dict[str, list[str]]:
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return _plain((fields[0], fields[1:]) for fields in lines if fields)


def _mise_tools(text: str) -> dict[str, list[str]]:
    """Only the versions of the table `tools`: `env` beside it may hold secrets."""
    try:
        tools = tomllib.loads(text).get("tools", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    if not isinstance(tools, dict):
        return {}
    return _plain((name, _versions_of(versions)) for name, versions in tools.items())


def _versions_of(setting: object) -> list[str]:
    if isinstance(setting, dict):
        setting = setting.get("version")
    listed = setting if isinstance(setting, list) else [setting]
    return [
        version for entry in listed for version in ([entry] if isinstance(entry, str) else _versions_of_table(entry))
    ]


def _versions_of_table(entry: object) -> list[str]:
    version = entry.get("version") if isinstance(entry, dict) else None
    return [version] if isinstance(version, str) else []


def _plain(tools: Iterable[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Keeps what is a name and a version, and no path or address."""
    plain_tools = {}
    for name, versions in tools:
        plain_versions = [
            version for version in versions if 0 < len(version) <= _LONGEST and _IN_VERSION.issuperset(version)
        ]
        if plain_versions and 0 < len(name) <= _LONGEST and _IN_NAME.issuperset(name):
            plain_tools[name] = plain_versions
    return plain_tools


def _text_of(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(_LARGEST)
    except OSError:
        return ""
