"""Detects calls that come from untrusted text: a file, a page, a program's output. Such text must not control the agent.

It compares text and knows no meaning. It finds a call as JSON, also with keys in another order, other spacing, or escaped several times;
and a text that names the tool and, close to it, the target, both word for word. The same request in other words is not found.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from anycowork.agent.reply_parser import FoundCall
from anycowork.domain.attached_files import attached_files_of
from anycowork.domain.errors import FileExists, StepNotReady
from anycowork.domain.hooks import words_recorded
from anycowork.domain.messages import Message, MessageType, Speaker, is_checkpoint_note, quoted_reports
from anycowork.domain.plan import Plan
from anycowork.domain.tools import CallStatus
from anycowork.prompts.conversation import changed_lines
from anycowork.prompts.history_budget import shown_result

_WORD = re.compile(r"\w+")
_PATH_LIKE = re.compile(r"[\w./-]+")
_MOST_WORDS = 64  # words of one command that are searched for in instructions; with more, it counts as demanded
_NEAR = 300  # characters around a tool's name in which an instruction may name its target
_MOST_ORDERS = 200  # instructions of one text that are kept separately
_MOST_PLACES = 2_000  # occurrences of one word that are checked in one instruction
_MARK = '"tool"'
_FIRST_PIECE = 512  # characters; enough to parse or reject most objects
_LONGEST_ESCAPE = 16  # characters of an escape that may be cut at the end of a piece
_DEEPEST = 3  # strings within strings within strings
_MOST_READ = 4_000_000  # characters parsed of one text
_ESCAPES = re.compile(r"\\+[nrtbf]?")
_UNICODE = re.compile(
    r"(?<!\\)\\++u([0-9a-fA-F]{4})"
)  # starts at the first backslash, so that each run is scanned once
_OPENS = re.compile(r"\{\s*+\"")  # an object that a call could be
_ONE_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DECODER = json.JSONDecoder(strict=False)  # an unescaped string may hold line breaks


class InjectionDetector:
    """Collects the untrusted texts of a turn. An instruction in plain words must name one of `tools`."""

    def __init__(self, tools: Iterable[str]) -> None:
        # A tool name that is also an ordinary word ("report") is not an instruction when it appears in a sentence.
        self._tools = frozenset(name for name in tools if "_" in name)
        self._spelt: list[str] = []
        self._meant: set[bytes] = set()
        self._orders: list[str] = []
        self._too_much = False

    def add_text(self, text: str) -> None:
        self._add_orders(text)
        if '"' not in text and "\\" not in text:
            return  # every call contains one of these
        bare = _bare(text)
        if _MARK in bare:  # few results contain this word, which every call has
            self._spelt.append(bare)
        layers = list(_unescaped(text))
        if not any(_MARK in layer for layer in layers):
            return
        for layer in layers:
            if not self._add_calls(layer):
                self._too_much = True  # then any call may be in it

    def _add_orders(self, text: str) -> None:
        if "_" not in text:  # each of the names has one
            return
        named_tools = self._tools.intersection(_WORD.findall(text))
        if not named_tools:  # the usual case
            return
        mentions = [match.span() for match in _WORD.finditer(text) if match[0] in named_tools]
        spans = [(max(0, start - _NEAR), end + _NEAR) for start, end in mentions]
        self._orders += [text[start:end] for start, end in (spans if len(spans) <= _MOST_ORDERS else _joined(spans))]

    def contains(self, call: FoundCall, trusted_texts: Sequence[str] = ()) -> bool:
        """Whether a text contains this call, or an instruction to make it. Targets that a `trusted_texts` text names may be mentioned."""
        if self._too_much or (self._meant and _meaning(call.tool, call.parameters) in self._meant):
            return True
        if self._orders and self._is_demanded(call, trusted_texts):
            return True
        if not self._spelt:
            return False
        call_text = _bare(call.source)
        return any(call_text in text for text in self._spelt)

    def _is_demanded(self, call: FoundCall, trusted_texts: Sequence[str]) -> bool:
        """Whether an instruction names this tool and target, or the command uses a file that an instruction names."""
        targets = [target for target in self._targets(call) if not _named_in_any(trusted_texts, target)]
        if any(_named_in(order, target) for order in self._orders if call.tool in order for target in targets):
            return True
        command = call.parameters.get("command")
        files = _files_in(command) if isinstance(command, str) else set()
        unnamed_files = (
            files if len(files) > _MOST_WORDS else {word for word in files if not _named_in_any(trusted_texts, word)}
        )
        return len(unnamed_files) > _MOST_WORDS or any(
            _named_in(order, word) for order in self._orders for word in unnamed_files
        )

    def _targets(self, call: FoundCall) -> list[str]:
        """Returns the targets of a call: the usual parameters of our tools; for other tools every text parameter."""
        values = [call.parameters.get(name) for name in ("path", "to", "command")]
        if call.tool in self._tools and not any(isinstance(value, str) for value in values):
            values = [*call.parameters.values()]
        targets = [target for value in values if isinstance(value, str) and (target := value.strip("./ "))]
        return targets[:_MOST_WORDS]

    def _add_calls(self, text: str) -> bool:
        """Adds the calls in this text; returns False if it is too long to parse completely."""
        read, opening = 0, _OPENS.search(text)
        while opening is not None:
            if read > _MOST_READ:
                return False
            try:
                value, length = _object_at(text, opening.start())
            except (ValueError, RecursionError):
                return False
            read += length
            if value is not None:
                self._add_value(value)
            opening = _OPENS.search(text, opening.start() + (length if value is not None else 1))
        return True

    def _add_value(self, value: object) -> None:
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


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merges overlapping spans, so that together they are no longer than the text."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _named_in_any(texts: Sequence[str], target: str) -> bool:
    return any(_named_in(text, target) for text in texts)


def _named_in(order: str, target: str) -> bool:
    """Whether the target appears as a whole word. If it is part of very many words, it counts as named."""
    position = order.find(target)
    for _ in range(_MOST_PLACES):
        if position < 0:
            return False
        end = position + len(target)
        if not _goes_on(order[position - 1 : position]) and not _goes_on(order[end : end + 1]):
            return True
        position = order.find(target, position + 1)
    return True


def _goes_on(letter: str) -> bool:
    return letter.isalnum() or letter in ("_", "-")


def _files_in(command: str) -> set[str]:
    """Returns the words that look like file names: with a dot, and letters before and after it."""
    path_words = (word.lstrip("./").rstrip("./-") for word in _PATH_LIKE.findall(command))
    return {word for word in path_words if "." in word}


def _object_at(text: str, start: int) -> tuple[object, int]:
    """Returns the JSON object at this position and its length; or None and the number of characters read.

    Parses only a piece of the text, because the decoder counts all lines before an error. Raises: ValueError, RecursionError.
    """
    size = _FIRST_PIECE
    while True:
        piece = text[start : start + size]
        try:
            return _DECODER.raw_decode(piece)
        except json.JSONDecodeError as error:
            cut = error.pos > len(piece) - _LONGEST_ESCAPE or error.msg.startswith("Unterminated")
            if not cut or start + size >= len(text):
                return None, size
        size *= 8


def _meaning(tool: object, parameters: object) -> bytes:
    """Returns a canonical form of the call: independent of key order and of `terminate`."""
    try:
        return msgspec.json.encode([tool, parameters], order="sorted")
    except UnicodeEncodeError:  # half of a surrogate pair cannot be in a valid call
        return b""


def _unescaped(text: str) -> Iterator[str]:
    """Yields the text, and the text unescaped as the content of a JSON string, of a string within one, …"""
    for _ in range(_DEEPEST + 1):
        yield text
        if "\\" not in text:
            return
        text = _whole_pairs(_ONE_ESCAPE.sub(_letter, text))


def _letter(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _LETTERS.get(match[2], match[2])


def _bare(text: str) -> str:
    """Removes white space and backslashes: inside a JSON string the same call is escaped, perhaps more than once."""
    if "\\" in text:
        text = _whole_pairs(_UNICODE.sub(lambda match: chr(int(match[1], 16)), text))
        text = _ESCAPES.sub("", text)
    return "".join(text.split())


def _whole_pairs(text: str) -> str:
    """Joins the two halves of each surrogate pair into one character; a single half stays unchanged."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class InjectionScanner:
    """Reads each message once. `changing_tools` are the names of the tools that do more than read."""

    def __init__(self, changing_tools: Iterable[str]) -> None:
        names = tuple(changing_tools)
        self._texts = InjectionDetector(names)
        self._reports = InjectionDetector(names)
        self._words: list[str] = []  # of the person
        self._has_reports = False
        self._scanned = 0

    def contains(self, call: FoundCall, history: Sequence[Message], plan: Plan | None) -> bool:
        """Whether the text of this call occurs in text of others in this history, as far as `InjectionDetector` recognises it.

        A report says what was done to which file: what the person or the approved `plan` names as well is no order of the report.
        """
        user, text_type, result = Speaker.USER, MessageType.TEXT, MessageType.TOOL_RESULT
        for message in history[self._scanned :]:
            if message.role is user and message.message_type is text_type:
                self._words.append(message.content)
            if message.payload is not None or message.message_type is result:  # else it is all the speaker's own
                self._scan(message)
        self._scanned = len(history)
        if self._texts.contains(call):
            return True
        return self._has_reports and self._reports.contains(call, [*self._words, *_named_by(plan)])

    def _scan(self, message: Message) -> None:
        for text in _texts_of_others(message):
            self._texts.add_text(text)
        if reports := quoted_reports(message):
            self._reports.add_text(reports)
            self._has_reports = True


def _texts_of_others(message: Message) -> Iterator[str]:
    """Yields what others wrote in this message, as far as the model was shown it: other text cannot influence it."""
    if message.message_type is MessageType.TOOL_RESULT and not _is_server_message(message):
        yield shown_result(message).content
        if lines := changed_lines(message):
            yield "\n".join(line[1:] for line in lines)
    if is_checkpoint_note(message):
        yield message.content
    for file in attached_files_of(message):
        yield file.content
    yield from words_recorded(message.payload)


def _named_by(plan: Plan | None) -> Iterator[str]:
    for step in plan.steps if plan is not None else ():
        yield from (step.action, *step.paths, *step.commands, *([step.check] if step.check else []))


def _is_server_message(message: Message) -> bool:
    """Whether the result was written by the server, not by a file or program: a refusal, an objection, a hint that a file exists or
    that another step comes first. Such texts name calls, but nobody could have planted them."""
    match message.payload:
        case {"status": CallStatus.REFUSED | CallStatus.DENIED} | {"tool_call_id": None}:
            return True
        case {"error": {"code": FileExists.code | StepNotReady.code}}:
            return True
        case _:
            return False
