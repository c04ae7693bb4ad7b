"""Reads which versions of tools the person uses by default, for version managers in sandboxes; nothing else of their configuration."""

import string
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

_LARGEST = 65_536  # bytes
_LONGEST = 100  # characters of a name or a version
_MOST = 200  # tools
_IN_VERSION = frozenset(string.ascii_letters + string.digits + "._+-")
_IN_NAME = _IN_VERSION | frozenset(":@/")


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
