"""Answers `initialize` without the protocol's SDK. An editor waits for that answer, and loading the SDK takes three times as long as all the rest.

The answer is the one that the SDK's models give (tests/integration/cli/test_acp.py compares them).
"""

from typing import Any

from anycowork import __version__
from anycowork.domain.messages import Json
from anycowork.domain.values import value

INITIALIZE_RESULT: Json = {
    "protocolVersion": 1,
    "agentCapabilities": {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
    },
    "authMethods": [],
    "agentInfo": {"name": "anycowork", "title": "AnyCowork", "version": __version__},
}
_HIGHEST_VERSION = 65535

Message = dict[str, Any]  # Any: a decoded message, whose types are checked here


@value
class EditorAbilities:
    """What the editor offered in `initialize`."""

    reads: bool = False
    writes: bool = False
    shows_terminals: bool = False


@value
class EditorIntroduction:
    """What the editor said of itself in `initialize`."""

    name: str = "editor"
    abilities: EditorAbilities = EditorAbilities()


def read_initialize(message: Message) -> EditorIntroduction | None:
    """The editor that sends this request. None if it is no `initialize`, or not plainly a valid one: the SDK then says what is wrong."""
    params = message.get("params")
    if message.get("method") != "initialize" or "id" not in message or not isinstance(params, dict):
        return None
    version = params.get("protocolVersion")
    if type(version) is not int or not 0 <= version <= _HIGHEST_VERSION:
        return None
    return read_introduction(params.get("clientInfo"), params.get("clientCapabilities"))


def read_introduction(info: object, offered: object) -> EditorIntroduction | None:
    """Reads the two objects as the protocol spells them; each may be missing. None if a field that is used here has another type."""
    info, offered = _default(info, {}), _default(offered, {})
    if not isinstance(info, dict) or not isinstance(offered, dict):
        return None
    if info and not all(isinstance(info.get(name), str) for name in ("name", "version")):
        return None
    files, more = _default(offered.get("fs"), {}), _default(offered.get("_meta"), {})
    if not isinstance(files, dict) or not isinstance(more, dict):
        return None
    reads, writes = (_default(files.get(name), False) for name in ("readTextFile", "writeTextFile"))
    if not isinstance(reads, bool) or not isinstance(writes, bool):
        return None
    abilities = EditorAbilities(reads=reads, writes=writes, shows_terminals=more.get("terminal_output") is True)
    return EditorIntroduction(info.get("name", "editor"), abilities)


def _default(setting: object, default: object) -> object:
    return default if setting is None else setting
