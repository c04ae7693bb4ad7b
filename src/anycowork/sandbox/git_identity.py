"""Reads the person's name and e-mail address for git, and nothing else of their configuration."""

from collections.abc import Mapping
from pathlib import Path

_LARGEST = 65_536  # bytes
_KEYS = ("name", "email")


def global_git_user(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the person's `name` and `email` as far as their own configuration has them. Blocking."""
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "git", "config")
    user: dict[str, str] = {}
    for file in (config, home / ".gitconfig"):  # the second wins, as in git
        user |= _user_section(file)
    return user


def gitconfig_of(user: Mapping[str, str]) -> str:
    """Returns a section of git's configuration with this `name` and `email`; empty if neither is set."""
    if not user:
        return ""
    return "[user]\n" + "".join(f"\t{key} = {_quoted(text)}\n" for key, text in user.items())


def _user_section(file: Path) -> dict[str, str]:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            lines = opened.read(_LARGEST).splitlines()
    except OSError:
        return {}
    user: dict[str, str] = {}
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line.partition("]")[0].lstrip("[").strip().lower()
            continue
        key, equals, text = line.partition("=")
        if section == "user" and equals and key.strip().lower() in _KEYS:
            user[key.strip().lower()] = text.strip().strip('"')
    return user


def _quoted(text: str) -> str:
    plain = "".join(char for char in text if char.isprintable())[:200]
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
