"""All that a command sees of /etc: who it is, and what programs need to start, find each other and check certificates. No secrets."""

import os
import shutil
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


def make_etc(folder: Path, *, uid: int, gid: int, source: Path = Path("/etc")) -> None:
    """Raises: OSError."""
    folder.mkdir(mode=0o755)
    for name in _COPIED:
        _copy(source / name, folder / name)
    lines = {
        "passwd": f"sandbox:x:{uid}:{gid}::/home/sandbox:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n",
        "group": f"sandbox:x:{gid}:\nnogroup:x:65534:\n",
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
    """What not everybody may read stays out, whoever we are."""
    found = set()
    for name in names:
        try:
            if not Path(folder, name).lstat().st_mode & 0o004:
                found.add(name)
        except OSError:
            found.add(name)
    return found
