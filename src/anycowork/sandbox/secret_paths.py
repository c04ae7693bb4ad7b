"""Decides which files and folders hold credentials, by name and by content. Limits what commands may see."""

import os
import stat
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

MOST_LOOKED = 5_000  # entries of one folder, the shallow ones first
_DEEPEST = 4
_MOST_READ = 200  # files of one folder whose content is read
_LARGEST_READ = 16_384  # bytes

_NAMES = frozenset({
    ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".boto",
    ".git-credentials", ".vault-token", ".terraform.d", ".password-store", ".pgpass", ".my.cnf", ".envrc", ".s3cfg", ".op",
    ".mozilla", ".thunderbird", ".m2", ".gem", ".subversion", ".condarc", ".claude", ".codex", ".gemini", "keyrings",
    "kwalletd", "anycowork.db",
})  # fmt: skip
# As files only: folders of these names are parts of programs.
_FILE_NAMES = frozenset(
    {".env", "credentials", "credentials.toml", "credentials.json", "credentials.db", "auth.json", "tokens.json"}
)
_BEGINNINGS = (".env.", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa")
_ENDINGS = (".kdbx", ".keychain", ".keychain-db", ".p12", ".pfx")
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


def is_secret_name(path: Path) -> bool:
    """Tells whether a component of the path, or two consecutive ones, name a place of credentials."""
    parts = path.parts
    return (
        path.name in _FILE_NAMES
        or any(map(_names_secret, parts))
        or any(first in _BELOW and second.startswith(_BELOW[first]) for first, second in pairwise(parts))
    )


def secrets_inside(folder: Path, *, most: int = MOST_LOOKED, deepest: int = _DEEPEST) -> list[Path]:
    """Returns files and folders below that hold credentials, whole folders as one; and sockets, pipes and devices.

    Checks the first `most` entries only, breadth first. Blocking.
    """
    return [Path(entry.path) for entry in _secret_entries(folder, most, deepest)]


def _secret_entries(folder: Path, most: int, deepest: int) -> Iterator["os.DirEntry[str]"]:
    waiting, looked, read = deque([(str(folder), 0)]), 0, 0
    while waiting and looked < most:
        here, depth = waiting.popleft()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            continue  # not readable for us, so not for a command that runs as us
        for entry in entries:
            looked += 1
            if entry.is_symlink():
                continue  # its target is not mounted
            is_folder = entry.is_dir(follow_symlinks=False)
            if not (is_folder and entry.name in _FILE_NAMES) and is_secret_name(Path(Path(here).name, entry.name)):
                yield entry
            elif not is_folder and not entry.is_file(follow_symlinks=False):
                yield entry  # a socket or a pipe reaches its listener, even in a read-only folder
            elif is_folder:
                if depth < deepest:
                    waiting.append((entry.path, depth + 1))
            elif read < _MOST_READ and depth <= 1 and _may_hold_text(entry):
                read += 1
                if holds_secret(Path(entry.path)):
                    yield entry


def holds_secret(file: Path) -> bool:
    """Decides by content: a private key, or a token of a known form."""
    try:
        with file.open("rb") as opened:
            start = opened.read(_LARGEST_READ)
    except OSError:
        return False
    return any(mark in start for mark in _CONTENTS)


def _may_hold_text(entry: "os.DirEntry[str]") -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and not found.st_mode & 0o111 and 0 < found.st_size <= _LARGEST_READ


def _names_secret(part: str) -> bool:
    return part in _NAMES or part.startswith(_BEGINNINGS) or part.endswith(_ENDINGS)
