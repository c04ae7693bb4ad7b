"""Reads the person's name and e-mail address for git, and nothing else of their configuration, for use in sandboxes."""

from collections.abc import Mapping
from pathlib import Path

_LARGEST = 65_536  # bytes
_WANTED = ("name", "email")


def git_identity(home: Path, environ: Mapping[str, str]) -> str:
    """Returns a gitconfig with the person's user.name and user.email; empty if neither is set. Blocking."""
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "git", "config")
    found: dict[str, str] = {}
    for file in (config, home / ".gitconfig"):  # the second wins, as in git
        found |= _user_section(file)
    if not found:
        return ""
    return "[user]\n" + "".join(f"\t{key} = {_quoted(text)}\n" for key, text in found.items())


def _user_section(file: Path) -> dict[str, str]:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            lines = opened.read(_LARGEST).splitlines()
    except OSError:
        return {}
    found: dict[str, str] = {}
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line.partition("]")[0].lstrip("[").strip().lower()
            continue
        key, equals, text = line.partition("=")
        if section == "user" and equals and key.strip().lower() in _WANTED:
            found[key.strip().lower()] = text.strip().strip('"')
    return found


def _quoted(text: str) -> str:
    plain = "".join(char for char in text if char.isprintable())[:200]
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
