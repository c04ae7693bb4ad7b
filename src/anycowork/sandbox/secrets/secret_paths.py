"""Decides which files and folders hold credentials, by name and by content. Limits what commands may see."""

import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import pairwise
from pathlib import Path

from anycowork.domain.values import value

MOST_LOOKED = 20_000  # entries of one folder, the shallow ones first
_DEEPEST = 6
_MOST_READ = 200  # files of one folder whose content is read because they lie near its top; those whose names ask for it come on top
_LARGEST_READ = 16_384  # bytes
_LARGEST_NAMED = 262_144

_NAMES = frozenset({
    ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".boto",
    ".git-credentials", ".vault-token", ".terraform.d", ".password-store", ".pgpass", ".my.cnf", ".envrc", ".s3cfg", ".op",
    ".mozilla", ".thunderbird", ".m2", ".gem", ".subversion", ".condarc", ".claude", ".codex", ".gemini", "keyrings",
    "kwalletd", "anycowork.db", ".huggingface", ".kaggle", ".oci", ".databrickscfg", ".smbcredentials", ".ngrok2", ".fly", ".pip", ".pki",
})  # fmt: skip
# As files only: folders of these names are parts of programs.
_FILE_NAMES = frozenset(
    {".env", "credentials", "credentials.toml", "credentials.json", "credentials.db", "auth.json", "tokens.json"}
)
_BEGINNINGS = (".env.", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa")
_ENDINGS = (".kdbx", ".keychain", ".keychain-db", ".p12", ".pfx", ".jks", ".keystore", ".ppk", "_history")
# Names that mean credentials only below another one.
_BELOW: dict[str, tuple[str, ...]] = {
    ".config": (
        "gh", "glab-cli", "gcloud", "hub", "op", "sops", "rclone", "google-chrome", "chromium", "BraveSoftware", "microsoft-edge",
        "vivaldi", "opera", "Code", "github-copilot", "configstore", "pip", "git", "nuget", "containers", "anycowork",
    ),
    ".gradle": ("gradle.properties",),
    ".cargo": ("config.toml", "config"),
}  # fmt: skip
_CONTENTS = (
    b"PRIVATE KEY-----", b"_authToken", b"aws_secret_access_key", b"aws_session_token", b"AWS_SECRET_ACCESS_KEY", b"ghp_",
    b"github_pat_", b"glpat-", b"xoxb-", b"xoxp-", b"AKIA", b"sk-ant-", b'"refresh_token"',
)  # fmt: skip


# Files that are read at any depth, because programs keep keys or passwords in files of these names, and public things too.
_READ_ENDINGS = (".pem", ".key", "npmrc", ".env")
_READ_NAMES = frozenset({"pip.conf", "pip.ini", "uv.toml", "bunfig.toml", "settings.xml"})
_NPM_MARKS = (b"_auth", b"_password")
_LONGEST_URL_USER = 512  # bytes
_SHORTEST_TOKEN = 20  # a shorter name without a password in an address is a user's name, such as git@
# A folder with one of these is a database. One with a Cellar is Homebrew's, which keeps databases in `var`.
_DATABASE_MARKS = frozenset({"PG_VERSION", "ibdata1"})
_HOMEBREW_MARK, _HOMEBREW_STATE = "Cellar", "var"


@value
class SecretScan:
    """What was found below a folder. `stamps` are the folders and files that decide it, with the times of their last change."""

    found: tuple[str, ...] = ()
    stamps: Mapping[str, int] = field(default_factory=dict)

    def is_outdated(self) -> bool:
        """Tells whether something there was added, removed, renamed or written since. Blocking."""
        return any(_changed_at(path) != changed_at for path, changed_at in self.stamps.items())


class SecretIndex:
    """Knows the credentials below folders, and looks again where something changed since."""

    def __init__(self) -> None:
        self._scans: dict[str, SecretScan] = {}

    def refresh(self, scans: Mapping[str, SecretScan]) -> None:
        """Looks again at those of these folders where something changed since it was last looked at. Blocking."""
        for folder, scan in scans.items():
            known_scan = self._scans.get(folder, scan)
            self._scans[folder] = scan_folder(Path(folder)) if known_scan.is_outdated() else known_scan

    def inside(self, scans: Mapping[str, SecretScan]) -> list[str]:
        """Returns what the last look at these folders found."""
        return [path for folder, scan in scans.items() for path in self._scans.get(folder, scan).found]


def is_secret_name(path: Path) -> bool:
    """Tells whether a component of the path, or two consecutive ones, name a place of credentials."""
    parts = path.parts
    return (
        path.name in _FILE_NAMES
        or any(map(_names_secret, parts))
        or any(first in _BELOW and second.startswith(_BELOW[first]) for first, second in pairwise(parts))
    )


def scan_folder(folder: Path, *, most: int = MOST_LOOKED, deepest: int = _DEEPEST) -> SecretScan:
    """Finds files and folders below that hold credentials, whole folders as one; and sockets, pipes and devices.

    Checks the first `most` entries only, breadth first. Blocking.
    """
    search = _CredentialSearch(most, deepest)
    return SecretScan(tuple(search.entries_below(str(folder))), search.stamps)


class _CredentialSearch:
    """One look at a folder and what is below it, breadth first."""

    def __init__(self, most: int, deepest: int) -> None:
        self._left, self._deepest, self._unread = most, deepest, _MOST_READ
        self.stamps: dict[str, int] = {}

    def entries_below(self, folder: str) -> Iterator[str]:
        waiting = deque([(folder, 0)])
        while waiting and self._left > 0:
            current_folder, depth = waiting.popleft()
            changed = _changed_at(current_folder)
            try:
                entries = sorted(os.scandir(current_folder), key=lambda entry: entry.name)
            except OSError:
                continue  # not readable for us, so not for a command that runs as us
            self.stamps[current_folder] = changed
            self._left -= len(entries)
            names = {entry.name for entry in entries}
            if depth and not _DATABASE_MARKS.isdisjoint(names):
                yield current_folder
                continue
            left_out = {_HOMEBREW_STATE} if _HOMEBREW_MARK in names else set()
            for entry in entries:
                if entry.is_symlink():
                    continue  # its target is not mounted
                if entry.name in left_out or self._is_secret(entry, current_folder, depth):
                    yield entry.path
                elif depth < self._deepest and entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, depth + 1))

    def _is_secret(self, entry: "os.DirEntry[str]", parent: str, depth: int) -> bool:
        above, name = parent.rpartition("/")[2], entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if _is_secret_entry(above, name, is_folder=is_folder):
            return True
        if is_folder:
            return False
        if not entry.is_file(follow_symlinks=False):
            return True  # a socket or a pipe reaches its listener, even in a read-only folder
        if _must_be_read(above, name, parent):
            return self._holds_secret(entry, _LARGEST_NAMED)
        if depth > 1 or self._unread == 0 or not _may_hold_text(entry):
            return False
        self._unread -= 1
        return self._holds_secret(entry, _LARGEST_READ)

    def _holds_secret(self, entry: "os.DirEntry[str]", most: int) -> bool:
        self.stamps[entry.path] = _changed_at(entry.path)
        return holds_secret(Path(entry.path), most=most)


def holds_secret(file: Path, *, most: int = _LARGEST_READ) -> bool:
    """Decides by content: a private key, a token of a known form, or, in a file of settings, a password."""
    try:
        with file.open("rb") as opened:
            start = opened.read(most)
    except OSError:
        return False
    return any(mark in start for mark in _CONTENTS) or _holds_password(file.parent.name, file.name, start)


def _holds_password(above: str, name: str, content: bytes) -> bool:
    if name == "settings.xml":  # Maven's own has examples in comments
        first, *after_comments = content.split(b"<!--")
        return b"<password>" in first + b"".join(part.partition(b"-->")[2] for part in after_comments)
    if name.endswith("npmrc") and any(mark in content for mark in _NPM_MARKS):
        return True
    is_settings = name in _READ_NAMES or name.endswith(_READ_ENDINGS) or (above, name) == (".git", "config")
    return is_settings and any(map(_names_user, content.split(b"://")[1:]))


def _names_user(after: bytes) -> bool:
    """Tells whether an address, from its host on, begins with a password or a token: `user:password@host`, `token@host`."""
    host = after[:_LONGEST_URL_USER].split(b"/", 1)[0].split(None, 1)
    user, at_sign, _ = host[0].partition(b"@") if host else (b"", b"", b"")
    _, colon, password = user.partition(b":")
    return bool(at_sign) and (bool(password) if colon else len(user) >= _SHORTEST_TOKEN)


def _must_be_read(above: str, name: str, parent: str) -> bool:
    if name.endswith(_READ_ENDINGS):
        inside_python = f"{parent}/".rpartition("/lib/python")[2]
        return inside_python.split("/")[1:2] != ["test"]  # keys that Python's own tests publish
    return name in _READ_NAMES or (above, name) == (".git", "config")


def _may_hold_text(entry: "os.DirEntry[str]") -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and not status.st_mode & 0o111 and 0 < status.st_size <= _LARGEST_READ


def _is_secret_entry(above: str, name: str, *, is_folder: bool) -> bool:
    if _names_secret(name) or (name in _FILE_NAMES and not is_folder):
        return True
    return above in _BELOW and name.startswith(_BELOW[above])


def _names_secret(part: str) -> bool:
    return part in _NAMES or part.startswith(_BEGINNINGS) or part.endswith(_ENDINGS)


def _changed_at(path: str) -> int:
    """Returns when its content or its names changed last; 0 if it is gone."""
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0
