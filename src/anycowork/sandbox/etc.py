"""Builds the /etc that a command sees: who it is, and what programs need to start and to check certificates. No secrets."""

import os
import shutil
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

# Copied as they are, links as links. Never /etc itself: root inside could read its shadow.
_COPIED = (
    "alternatives",
    "ca-certificates.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "pki/ca-trust",
    "pki/tls/certs",
    "ssl/certs",
    "ssl/openssl.cnf",
)


_BOOT = Path("/proc/sys/kernel/random/boot_id")


def etc_key(*, uid: int, gid: int, extra_files: Mapping[str, str] | None = None, source: Path = Path("/etc")) -> str:
    """Returns a key that changes when `make_etc` would produce something else, and after each boot: a power cut may have torn the old one."""
    digest = sha256(
        f"{uid} {gid} {_BOOT.read_text() if _BOOT.exists() else ''}{sorted((extra_files or {}).items())}".encode()
    )
    waiting = [str(source / name) for name in _COPIED]
    while waiting:
        path = waiting.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                with os.scandir(path) as entries:
                    waiting += sorted(entry.path for entry in entries)
        except OSError:
            continue  # missing or not readable: not copied either
        digest.update(
            f"{path} {status.st_mode} {status.st_ino} {status.st_ctime_ns}\0".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()[:16]


def make_etc(
    folder: Path, *, uid: int, gid: int, extra_files: Mapping[str, str] | None = None, source: Path = Path("/etc")
) -> None:
    """`extra_files` are further files by name, such as the author of commits as git reads it; empty ones are left out. Raises: OSError."""
    folder.mkdir(mode=0o755)
    for name in _COPIED:
        _copy(source / name, folder / name)
    lines = {
        "passwd": f"sandbox:x:{uid}:{gid}::/home/sandbox:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n",
        "group": f"sandbox:x:{gid}:\nnogroup:x:65534:\n",
        **{name: text for name, text in (extra_files or {}).items() if text},
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    }
    for name, text in lines.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, ignore=_private)
    elif os.access(source, os.R_OK) and not _private(str(source.parent), [source.name]):
        shutil.copy(source, target, follow_symlinks=False)


def _private(folder: str, names: list[str]) -> set[str]:
    """Leaves out files that not every user may read, even if the server may."""
    private_names = set()
    for name in names:
        try:
            if not Path(folder, name).lstat().st_mode & 0o004:
                private_names.add(name)
        except OSError:
            private_names.add(name)
    return private_names
