"""Finds the example calls in a system prompt, and detects calls that repeat one: a small model sometimes executes an example. Pure."""

import posixpath
import re
from functools import lru_cache
from typing import Any

from anycowork.domain.bounded_json import read_json
from anycowork.domain.tools import Parameters
from anycowork.domain.values import value

_ASKED = "Person:"
_WORD = re.compile(r"[\w./-]+")
_LONGEST_SUFFIX = 8


@value
class ExampleCall:
    """One example call. A request must name at least one of its `names` for the call to be intended."""

    tool: str
    path: str | None
    command: str | None
    names: tuple[str, ...]


@lru_cache(maxsize=32)
def examples_in(prompt: str) -> tuple[ExampleCall, ...]:
    """Returns the calls that are alone on a line, each with the request before it."""
    examples: list[ExampleCall] = []
    request = ""
    for line in map(str.strip, prompt.splitlines()):
        if line.startswith(_ASKED):
            request = line.removeprefix(_ASKED)
        elif line.startswith("{") and (example := _read(line, request)):
            examples.append(example)
    return tuple(examples)


def repeated_example(prompt: str, tool: str, parameters: Parameters) -> ExampleCall | None:
    """Returns the example that this call repeats, by its command or by a file that the example changes."""
    path, command = _plain(parameters.get("path")), _squeezed(parameters.get("command"))
    command_words = set(map(_plain, _WORD.findall(command))) if command else set()
    for example in examples_in(prompt):
        if example.command is not None and example.command == command:
            return example
        if example.path is not None and (
            example.path in command_words or (example.path == path and example.tool != "read_file")
        ):
            return example
    return None


def is_asked_for(example: ExampleCall, request: str) -> bool:
    """Whether the request names what the example is about."""
    request_words = _WORD.findall(request)
    names = {_plain(word.rstrip(".")) for word in request_words} | {word.strip(".") for word in request_words}
    return any(name in names or posixpath.basename(name) in names for name in example.names)


def _read(line: str, request: str) -> ExampleCall | None:
    try:
        call: Any = read_json(line, strict=False)
    except ValueError:
        return None
    if (
        not isinstance(call, dict)
        or not isinstance(call.get("parameters"), dict)
        or not isinstance(call.get("tool"), str)
    ):
        return None
    path, command = _plain(call["parameters"].get("path")), _squeezed(call["parameters"].get("command"))
    return ExampleCall(call["tool"], path, command, _names(path, command, request))


def _names(path: str | None, command: str | None, request: str) -> tuple[str, ...]:
    """A file, or what the request and the command have in common, and the files in the command."""
    if path is not None:
        return (path,)
    request_words = {word.strip(".") for word in _WORD.findall(request)}
    parts = re.findall(r"[\w-]+", command or "")
    command_words = [str(_plain(word)) for word in _WORD.findall(command or "")]
    files = [word for word in command_words if _looks_like_file(word)]
    return tuple(dict.fromkeys([*files, *(word for word in (*command_words, *parts) if word in request_words)]))


def _looks_like_file(word: str) -> bool:
    """`notes/today.txt`, `run.py`, `src/app`; no flag, no number, no `..`."""
    folder, _, name = word.rpartition("/")
    stem, _, suffix = name.rpartition(".")
    has_suffix = bool(stem) and suffix.isalnum() and not suffix.isdigit() and len(suffix) <= _LONGEST_SUFFIX
    return bool(name) and not word.startswith(("-", ".")) and (bool(folder) or has_suffix)


def _plain(path: object) -> str | None:
    return posixpath.normpath(path).lstrip("/") if isinstance(path, str) and path else None


def _squeezed(command: object) -> str | None:
    return " ".join(command.split()) if isinstance(command, str) and command else None
