"""Describes errors in settings: which one, where it is, what would be right. Pure; knows no setting by name."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

_HEADER = re.compile(r"\s*(\[{1,2})\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")

Place = tuple[str | int, ...]


def describe_problem(
    error: ValidationError, sources: Mapping[str, str], *, units: Mapping[str, str], file: str, text: str
) -> list[str]:
    """Returns one sentence for each error. `sources` says where a setting came from; those from `file` are located in its `text`."""
    sentences = []
    for fault in error.errors(include_url=False, include_input=False):
        location, reason = fault["loc"], fault["msg"].removeprefix("Value error, ")
        if not location:
            sentences.append(f"These settings do not fit together: {reason}.")
            continue
        name = str(location[0])
        source = sources.get(name)
        line = line_of(text, location) if source == file else None
        origin = f" (from {source}{f', line {line}' if line else ''})" if source else ""
        unit = f" Expected: {units[name]}." if units.get(name) and len(location) == 1 else ""
        if fault["type"] == "extra_forbidden":
            reason = "there is no such setting"
        reason = re.sub(r"^Input should", "it should", reason)
        sentences.append(f"The setting '{'.'.join(map(str, location))}'{origin} does not fit: {reason}.{unit}")
    return sentences


def line_of(text: str, location: Sequence[str | int]) -> int | None:
    """Returns the line of this key in a TOML text, or of what encloses it; None if neither is there."""
    key_path, best, line = tuple(location), 0, None
    for number, path in _places(text):
        depth = len(path)
        if best < depth <= len(key_path) and key_path[:depth] == path:
            best, line = depth, number
    return line


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Returns the known name that this one may be a typo of."""
    return next(iter(difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.75)), None)


def _places(text: str) -> Iterable[tuple[int, Place]]:
    """Yields every header and key with its line. Lines inside multi-line strings may look like one; they are no better match."""
    table: Place = ()
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            parts = _parts(header[2])
            if header[1] == "[[":
                counts[parts[0]] = counts.get(parts[0], -1) + 1
            index: Place = (counts[parts[0]],) if parts[0] in counts else ()
            table = (parts[0], *index, *parts[1:])
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *_parts(key[1]))


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)] or [dotted]
