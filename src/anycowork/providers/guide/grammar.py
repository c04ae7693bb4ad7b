"""Parses plain English into intents: the sentences the guide knows, as patterns over text whose quotations are masked. Pure.

What is not clearly one of the known intents is reported as unclear. An intent that changes something must name its file unmistakably: quoted, with
a dot or slash, or after the word "file".
"""

import re
from collections.abc import Callable
from functools import cache

from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value
from anycowork.providers.guide.intents import (
    AppendLineIntent,
    CreateFileIntent,
    DeleteFileIntent,
    Intent,
    ListFilesIntent,
    MoveFileIntent,
    ReadFileIntent,
    ReplaceTextIntent,
    ReviewFileIntent,
    RunCommandIntent,
    SearchIntent,
)

# One private-use character replaces one quotation; a request cannot contain it.
_FIRST, _LAST = 0xE000, 0xF8FF
MARK = "[\ue000-\uf8ff]"
_QUOTED = late_pattern(
    r"(?<!`)(?P<fence>`{3,}+)[^\n`]*\n(?P<block>.*?)\n?(?P=fence)(?!`)"
    r"|`(?P<tick>[^`\n]+)`"
    r'|"(?P<double>[^"\n]*)"'
    r"|“(?P<curly>[^“”\n]*)”"
    r"|(?<!\w)'(?P<single>[^'\n]*)'(?!\w)",
    re.DOTALL,
)
# "create notes.txt with:" and then lines: everything below is the content, not further requests.
_REST_IS_CONTENT = late_pattern(
    r"\b(?:with|containing|contains|content|contents|says|saying|text)\s*:[ \t]*\n(?P<rest>.+)", re.S | re.I
)
LONGEST_TEXT = 50_000  # characters, quotations included
MAX_REQUEST = 4_000  # characters without quotations: a longer text is not a plain request, and matching it takes time
MAX_CLAUSES = 30


class Quotes:
    """`masked` is the text with a mark for each quotation; `open` puts the text back."""

    def __init__(self, text: str) -> None:
        self._kept: list[str] = []
        clean = re.sub(MARK, "\ufffd", text.replace("\r\n", "\n"))
        masked = _QUOTED.sub(lambda match: self._keep(_inside(match)), clean)
        if content := _REST_IS_CONTENT.search(masked):
            start = content.start("rest")
            masked = masked[:start].rstrip() + " " + self._keep(self.open(masked[start:]).strip("\n"))
        self.masked = masked

    def open(self, part: str) -> str:
        """Returns the text with its quotations put back, without the quotation marks."""
        return re.sub(MARK, lambda match: self._kept[ord(match[0]) - _FIRST], part)

    def is_quoted(self, part: str) -> bool:
        return re.fullmatch(MARK, part.strip()) is not None

    def _keep(self, quotation: str) -> str:
        if len(self._kept) > _LAST - _FIRST:
            return "\ufffd"
        self._kept.append(quotation)
        return chr(_FIRST + len(self._kept) - 1)


def _inside(match: re.Match[str]) -> str:
    return next((text for name, text in match.groupdict().items() if name != "fence" and text is not None), "")


MAX_CLAUSE = 2_000


def intents_in(clause: str, quotes: Quotes) -> list[Intent]:
    """Returns the intents of the first sentence that matches; empty if none does."""
    if len(clause) > MAX_CLAUSE:
        return []
    for sentence, intents in _SENTENCES:
        match = _compiled(sentence).fullmatch(clause)
        if match is None:
            continue
        try:
            return intents(_Words(match, quotes))
        except _Unlikely:
            continue
    return []


class _Unlikely(Exception):
    """The words match the sentence, but do not name what it needs."""


class _Words:
    """The named parts of a clause, with the quotations put back."""

    def __init__(self, match: re.Match[str], quotes: Quotes) -> None:
        self._parts = {name: (part or "").strip() for name, part in match.groupdict().items()}
        self._quotes = quotes

    def text(self, name: str) -> str:
        """Raises: _Unlikely if it is empty and not quoted as such."""
        part = self._parts[name]
        if not part:
            raise _Unlikely
        return self._quotes.open(part)

    def any_path(self, name: str = "path") -> str:
        """Returns an empty string if no path was named."""
        part = self._parts[name]
        path = self._quotes.open(part)
        return path if self.quoted(name) or path in (".", "..") else path.rstrip(".,")

    def file(self, name: str = "path") -> str:
        """Raises: _Unlikely if these words need not mean a file."""
        path = self.any_path(name)
        telling = self.quoted(name) or self._parts.get(f"{name}_said") or re.search(r"[./]|^[A-Z]{3}|file$", path)
        if not path or not telling:
            raise _Unlikely
        return path

    def files(self, name: str = "paths") -> list[str]:
        """Returns several files, all of which must be unmistakable."""
        parts = re.split(_AND, self._parts[name])
        if not all(re.search(rf"[./]|^[A-Z]{{3}}|file$|{MARK}", part) for part in parts):
            raise _Unlikely
        return [self._quotes.open(part) for part in parts]

    def quoted(self, name: str) -> bool:
        return self._quotes.is_quoted(self._parts[name])


# --- the building blocks of sentences

_WORD = rf"(?:{MARK}|[^\s,;:?!*|<>&$(){{}}\"'`{MARK[1:-1]}]+)"
_SOME = rf"(?:{MARK}|.+?)"
_THE = r"(?:(?:the|a|an|my|this)\s+)?"
_HERE = r"(?:here|there|it|(?:the|this|my|the\s+current)?\s*(?:workspace|folder|directory|project|repo(?:sitory)?))"
_AND = r"\s*(?:,\s*and\s+|,|\s+and\s+)\s*"
_TO = r"\s+(?:with|by|to|into|for)\s+"
_REPLACE = rf"(?:replace|change|swap|substitute|update)\s+(?:{_THE}(?:word|text|line|phrase)\s+)?"
_WITH = (
    r"(?:(?:,?\s*(?:and\s+)?(?:with|containing|saying|(?:that|which)\s+(?:says|contains|reads|holds)))"
    r"(?:\s+(?:the\s+)?(?:contents?|text|words?|lines?)\b)?\s*:?\s*|\s*:\s*)"
)


def _file(name: str = "path", kinds: str = "file|script") -> str:
    """Matches a file as people name it: `notes.txt`, "the file notes", "a new text file called notes"."""
    introduction = rf"(?P<{name}_said>(?:{kinds})(?:\s+(?:called|named))?|called|named)"
    return rf"{_THE}(?:(?:new|text|empty|whole|contents?\s+of)\s+)*{_THE}(?:{introduction}\s+)?(?P<{name}>{_WORD})"


_FILES = rf"{_THE}(?:files?\s+)?(?P<paths>{_WORD}(?:{_AND}{_WORD})*)"
_IN_FILE = rf"\s+in\s+{_file()}"


# --- the meaning of each sentence


def _list(clause: _Words) -> list[Intent]:
    return [ListFilesIntent(clause.any_path() or ".")]


def _read(clause: _Words) -> list[Intent]:
    return [ReadFileIntent(clause.any_path())]


def _read_several(clause: _Words) -> list[Intent]:
    return [ReadFileIntent(path) for path in clause.files()]


def _show(clause: _Words) -> list[Intent]:
    path = clause.file()
    return [ListFilesIntent(path) if path.endswith("/") else ReadFileIntent(path)]


def _review(clause: _Words) -> list[Intent]:
    return [ReviewFileIntent(clause.file())]


def _search(clause: _Words) -> list[Intent]:
    return [SearchIntent(clause.text("text"), clause.any_path() or None)]


def _append(clause: _Words) -> list[Intent]:
    return [AppendLineIntent(clause.file(), clause.text("line"))]


def _create_empty(clause: _Words) -> list[Intent]:
    return [CreateFileIntent(clause.file())]


def _create(clause: _Words) -> list[Intent]:
    return [CreateFileIntent(clause.file(), f"{clause.text('content')}\n")]


def _replace(clause: _Words) -> list[Intent]:
    old, new = clause.text("old"), clause.text("new")
    if not old:
        raise _Unlikely
    return [ReplaceTextIntent(clause.file(), old, new)]


def _delete(clause: _Words) -> list[Intent]:
    return [DeleteFileIntent(path) for path in clause.files()]


def _delete_one(clause: _Words) -> list[Intent]:
    return [DeleteFileIntent(clause.file())]


def _move(clause: _Words) -> list[Intent]:
    return [MoveFileIntent(clause.file(), clause.any_path("to"))]


def _run(clause: _Words) -> list[Intent]:
    command = clause.text("command")
    # "run the tests" names no command, and the guide does not guess one.
    vague = not clause.quoted("command") and re.match(r"(?:the|a|an|my|all|it|this|that|some)\b", command, re.I)
    if vague or not command.strip():
        raise _Unlikely
    return [RunCommandIntent(command)]


def _sentence(*parts: str) -> str:
    return "".join(parts)


@cache
def _compiled(sentence: str) -> re.Pattern[str]:
    """Compiles a pattern on first use: compiling all of them at import would slow every start."""
    return re.compile(sentence, re.IGNORECASE | re.DOTALL)


_SENTENCES: tuple[tuple[str, Callable[[_Words], list[Intent]]], ...] = (
    (_sentence(r"(?:show(?:\s+me)?|look\s+at|what(?:'s|\s+is)\s+(?:in|inside))\s+", _file()), _show),
    (
        _sentence(
            rf"(?:(?:list|show|see|find|get)(?:\s+me)?\s+(?:all\s+)?(?:of\s+)?{_THE}(?:files(?:\s+and\s+folders)?|folders|directory|contents?)",
            r"|(?:what|which)\s+(?:files\s+)?(?:is|are)(?:\s+there)?|list|look\s+around|ls)",
            rf"(?:(?:\s+(?:in|inside|under|of|at))?\s+(?:{_HERE}|{_THE}(?:(?:folder|directory)\s+)?(?P<path>{_WORD})(?:\s+(?:folder|directory))?))?",
        ),
        _list,
    ),
    (_sentence(r"(?:read|open|cat|print|display|view)(?:\s+me)?\s+", _file()), _read),
    (_sentence(r"(?:read|open|cat|print|display|view)(?:\s+me)?\s+", _FILES), _read_several),
    (_sentence(r"(?:review|inspect|check)\s+", _file()), _review),
    (
        _sentence(
            rf"(?:search|grep|look|find)\s+(?:for\s+)?(?:all\s+)?(?:{_THE}(?:word|text|phrase|string)\s+)?(?P<text>{_SOME})",
            rf"(?:\s+(?:in|inside|under)\s+(?:{_HERE}|(?:all|the|every)\s+files?|{_file()}))?",
        ),
        _search,
    ),
    (
        _sentence(
            rf"(?:append|add)\s+{_THE}(?:(?:line|text|words?)\s+)?(?P<line>{_SOME})\s+(?:to|at)\s+(?:the\s+end\s+of\s+)?",
            _file(),
        ),
        _append,
    ),
    (_sentence(r"(?:create|make|write|add)\s+(?:me\s+)?", _file(), r"(?:\s+file)?"), _create_empty),
    (_sentence(r"(?:create|make|write|add)\s+(?:me\s+)?", _file(), rf"(?:\s+file)?{_WITH}(?P<content>.+)"), _create),
    (_sentence(rf"(?:write|put|save)\s+(?P<content>{_SOME})\s+(?:to|into|in|as)\s+", _file()), _create),
    (_sentence(_REPLACE, rf"(?P<old>{_SOME}){_TO}(?P<new>{_SOME})", _IN_FILE), _replace),
    (_sentence(_REPLACE, rf"(?P<old>{_SOME})", _IN_FILE, rf"{_TO}(?P<new>{MARK}|.+)"), _replace),
    (_sentence(r"in\s+", _file(), r",?\s+", _REPLACE, rf"(?P<old>{_SOME}){_TO}(?P<new>{MARK}|.+)"), _replace),
    (_sentence(r"(?:delete|remove|rm|erase)\s+", _file()), _delete_one),
    (_sentence(r"(?:delete|remove|rm|erase)\s+", _FILES), _delete),
    (
        _sentence(
            r"(?:move|rename|mv)\s+", _file(kinds="file|script|folder|directory"), r"\s+(?:to|into|as)\s+", _file("to")
        ),
        _move,
    ),
    (_sentence(rf"(?:run|execute|test\s+with|test)\s+(?:(?:the\s+)?command\s+)?(?P<command>{MARK}|.+)"), _run),
)


@value
class GuideRequest:
    """`planned`: the person asked for a plan. `unclear`: the parts that were not understood, as the person wrote them."""

    intents: tuple[Intent, ...] = ()
    unclear: tuple[str, ...] = ()
    planned: bool = False
    help: bool = False


def understand(text: str) -> GuideRequest:
    """Returns every intent in this text, in order. Never raises."""
    if len(text) > LONGEST_TEXT:
        return GuideRequest(unclear=(f"{text[:MAX_REQUEST]} …",))
    quotes = Quotes(text)
    if len(quotes.masked) > MAX_REQUEST:
        return GuideRequest(unclear=(text,))
    body = _strip_politeness(quotes.masked)
    planned = _PLAN.match(body)
    if planned:
        body = body[planned.end() :]
    clauses = [clause for part in _JOINTS.split(body) if (clause := _strip_politeness(part))]
    if not clauses or all(_HELP.fullmatch(clause) for clause in clauses):
        return GuideRequest(help=True, planned=bool(planned))
    intents: list[Intent] = []
    unclear: list[str] = []
    for clause in clauses[:MAX_CLAUSES]:
        clause_intents = intents_in(clause, quotes)
        intents += clause_intents
        if not clause_intents:
            unclear.append(quotes.open(clause))
    unclear += [quotes.open(clause) for clause in clauses[MAX_CLAUSES:]]
    return GuideRequest(tuple(intents), tuple(unclear), planned=bool(planned))


# --- from a text to its clauses

_I = re.IGNORECASE
_PLAN = late_pattern(
    r"(?:(?:make|write|draft|give me|prepare|create|propose)\s+)?(?:(?:a|the)\s+)?plan\b(?!\.\w)\s*(?:how\s+to|to|for|that|:)?\s*",
    _I,
)
_JOINTS = late_pattern(
    rf"\s*(?:;|\n|[,.]?\s+(?:and\s+then|then|after\s+that|afterwards|finally)\b,?|,?\s+and\s+(?=(?:run|execute)\s+{MARK}))\s*",
    _I,
)
_MANNERS = late_pattern(
    r"^(?:\s*(?:\d+[.)]|[-*•])\s+"
    r"|(?:please|kindly|now|first|next|then|finally|and|ok(?:ay)?|hey|hi|hello)\b[,:]?\s+"
    r"|(?:can|could|would|will)\s+you\s+|(?:i\s+(?:want|would\s+like|need)|i'd\s+like)\s+(?:you\s+)?to\s+|let(?:'s|\s+us)\s+)",
    _I,
)
_HELP = late_pattern(
    r"(?:help(?:\s+me)?|hi|hello|hey|good\s+\w+|what\s+can\s+you\s+do(?:\s+for\s+me)?|who\s+are\s+you|what\s+are\s+you|how\s+does\s+this\s+work)\W*",
    _I,
)


def _strip_politeness(text: str) -> str:
    """Removes 'please', 'can you', list bullets, and the full stop."""
    text = text.strip()
    while polite := _MANNERS.match(text):
        text = text[polite.end() :].strip()
    text = re.sub(r"[ ,]{0,3}\bplease[.!?]{0,3}$", "", text, flags=_I)
    return re.sub(r"(?<![\s.!?])[.!?]{1,3}$", "", text)
