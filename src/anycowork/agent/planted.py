"""Whether a call stands in text that others wrote: a file, a page, a program's output. Whoever planted it there must not steer.

It is looked for as it is spelt, and as what it means: the same call with its keys in another order, spaced, or escaped again and again;
and as an order in plain words, that names the tool and beside it the target.
"""

import json
import re
from collections.abc import Iterable, Iterator

import msgspec

from anycowork.agent.reply import FoundCall

_FILE = re.compile(r"[\w-][\w./-]*\.\w+")  # a file's name in a command
_NEAR = 300  # characters around a tool's name within which an order in plain words names its target
_MOST_ORDERS = 200  # of one text, kept apart
_MARK = '"tool"'
_DEEPEST = 3  # strings within strings within strings
_MOST_READ = 4_000_000  # characters parsed of one text
_ESCAPES = re.compile(r"\\+[nrtbf]?")
_UNICODE = re.compile(r"\\+u([0-9a-fA-F]{4})")
_ONE_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DECODER = json.JSONDecoder(strict=False)  # an unescaped string may hold line breaks


class Planted:
    """What was read so far. An order in plain words is one that names one of `tools`."""

    def __init__(self, tools: Iterable[str]) -> None:
        # A name that is an ordinary word as well ("report") orders nothing where it stands in a sentence.
        self._tools = tuple(name for name in tools if "_" in name)
        self._order = re.compile(rf"\b(?:{'|'.join(map(re.escape, self._tools))})\b")
        self._spelt: list[str] = []
        self._meant: set[bytes] = set()
        self._orders: list[str] = []
        self._too_much = False

    def take(self, text: str) -> None:
        self.take_orders(text)
        if '"' not in text and "\\" not in text:
            return  # no call is spelt without either
        bare = _bare(text)
        if _MARK in bare:  # hardly any result holds the word that every call does
            self._spelt.append(bare)
        layers = list(_unescaped(text))
        if not any(_MARK in layer for layer in layers):
            return
        for layer in layers:
            if not self._take_calls(layer):
                self._too_much = True  # then every call may stand in it

    def take_orders(self, text: str) -> None:
        if not any(name in text for name in self._tools):  # looked for in a fraction of the time
            return
        orders = [text[max(0, at.start() - _NEAR) : at.end() + _NEAR] for at in self._order.finditer(text)]
        self._orders += orders if len(orders) <= _MOST_ORDERS else [text]

    def holds(self, call: FoundCall) -> bool:
        if self._too_much or (self._meant and _meaning(call.tool, call.parameters) in self._meant):
            return True
        if any(self._obeys(order, call) for order in self._orders):
            return True
        wanted = _bare(call.source) if self._spelt else ""
        return any(wanted in text for text in self._spelt)

    def _obeys(self, order: str, call: FoundCall) -> bool:
        """By the tool that the order names, or by a command that does the same to the same file."""
        if call.tool in order and any(_named_in(order, target) for target in self._targets(call)):
            return True
        command = call.parameters.get("command")
        return isinstance(command, str) and any(_named_in(order, word) for word in _FILE.findall(command))

    def _targets(self, call: FoundCall) -> list[str]:
        """By the names that our own tools have for it; of another that does something, whatever it is given in words."""
        given = [call.parameters.get(name) for name in ("path", "to", "command")]
        if call.tool in self._tools and not any(isinstance(one, str) for one in given):
            given = [*call.parameters.values()]
        return [target for one in given if isinstance(one, str) and (target := one.strip("./ "))]

    def _take_calls(self, text: str) -> bool:
        """False if there is more in it than can be looked at."""
        read, at = 0, text.find("{")
        while at >= 0:
            if read > _MOST_READ:
                return False
            try:
                value, end = _DECODER.raw_decode(text, at)
            except json.JSONDecodeError as error:
                read += error.pos - at
                at = text.find("{", at + 1)
                continue
            except (ValueError, RecursionError):
                return False
            read += end - at
            self._take_value(value)
            at = text.find("{", end)
        return True

    def _take_value(self, value: object) -> None:
        waiting = [value]
        while waiting:
            match waiting.pop():
                case {"tool": tool, "parameters": parameters, **more}:
                    self._meant.add(_meaning(tool, parameters))
                    waiting += [parameters, *more.values()]
                case dict() as found:
                    waiting += found.values()
                case list() as found:
                    waiting += found


def _named_in(order: str, target: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(target)}(?![\w-])", order))


def _meaning(tool: object, parameters: object) -> bytes:
    """Whatever the order of its keys, and whether or not it would have ended the turn."""
    try:
        return msgspec.json.encode([tool, parameters], order="sorted")
    except UnicodeEncodeError:  # half of a surrogate pair: no call of ours
        return b""


def _unescaped(text: str) -> Iterator[str]:
    """The text, and what it says when it is taken for the inside of a JSON string, of a string within one, …"""
    for _ in range(_DEEPEST + 1):
        yield text
        if "\\" not in text:
            return
        text = _whole_pairs(_ONE_ESCAPE.sub(_letter, text))


def _letter(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _LETTERS.get(found[2], found[2])


def _bare(text: str) -> str:
    """Without white space and backslashes: inside a JSON string the same call stands escaped, perhaps more than once."""
    if "\\" in text:
        text = _whole_pairs(_UNICODE.sub(lambda found: chr(int(found[1], 16)), text))
        text = _ESCAPES.sub("", text)
    return "".join(text.split())


def _whole_pairs(text: str) -> str:
    """Two halves of a surrogate pair are one character; a half alone stays what it is."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
