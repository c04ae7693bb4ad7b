"""Values that look like secrets: known by their shape, and left out of what models are told and of exports. Pure, in linear time.

A stand-in takes the place of each: «hidden 1: GitHub token». The number counts the values of its message.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from pydantic import JsonValue

from anycowork.domain.errors import Refusal
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.origins import IMPORT
from anycowork.domain.values import replace, value

HIDDEN_VALUES = "hidden_values"
"""In the payload of a message: what kinds of values in it no model is told, in the order of their numbers."""
REVEALED = "revealed"
"""In the payload of a note: the message and the number of the value that a person shows to the model in it."""

STAND_IN = re.compile(r"«hidden \d{1,6}: [A-Za-z ]{1,40}»")
TOKEN = re.compile(
    r"(?<![A-Za-z0-9_\-])(?:"
    r"(?:pt-ac|sk|glpat|xox[abeprs]|pypi)-[A-Za-z0-9_\-]{12,}+"
    r"|(?:gh[opsur]|github_pat|gsk|hf|[sr]k_live)_[A-Za-z0-9_]{12,}+|npm_[A-Za-z0-9]{30,}+|whsec_[A-Za-z0-9+/]{24,100}+={0,2}"
    r"|A[KS]IA[A-Z0-9]{16}|AIza[A-Za-z0-9_\-]{30,}+"
    r")"
)
# By a sign that they share, for the same reason as the names below.
_TOKEN_MARKS = {
    "-": ("sk-", "pt-ac", "glpat", "xox", "pypi-"),
    "_": ("k_live", "npm_", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat", "gsk_", "hf_", "whsec_"),
    "A": ("AKIA", "ASIA", "AIza"),
}
_LIKE_NAMES = ("sk-", "hf_", "gsk_")  # sk-container-id-1 is a name in a page
_NAMED_TOKENS = {
    "sk-ant": "Anthropic key", "pt-ac": "AnyCowork token", "sk-ac": "AnyCowork key", "glpat": "GitLab token", "xox": "Slack token",
    "gh": "GitHub token", "npm": "npm token", "pypi": "PyPI token", "AKIA": "AWS key id", "ASIA": "AWS key id", "AIza": "Google key",
    "hf_": "Hugging Face token", "sk_live": "Stripe key", "rk_live": "Stripe key", "whsec_": "Webhook secret",
}  # fmt: skip
_WEB_TOKEN = re.compile(r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,}+\.eyJ[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]{8,}+")
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^\s/@:]{0,200}+:([^\s/@${}<>]{3,500}+)(?=@)")
_NO_PASSWORDS = frozenset({"pass", "password", "passwd", "pwd", "secret", "xxx", "xxxx", "***", "...", "your-password"})
# What follows a name in any case, when the name says what its value is.
_VALUE = re.compile(
    r"[A-Za-z0-9_]{0,40}+[\"']?\s{0,3}+[:=]{1,2}+>?\s{0,3}+[\"']?"
    r"([A-Za-z0-9+/=_\-~!#%^&*]{16,512}+)(?![A-Za-z0-9+/=_\-~!#%^&*.(\[{$<])"
)
# By a part that they share: most texts hold none of the parts, and need no look for the names.
_NAMES: dict[str, dict[str, re.Pattern[str]]] = {
    "secret": {"secret": _VALUE},
    "token": {"token": _VALUE},
    "passw": {"password": _VALUE, "passwd": _VALUE},
    "key": dict.fromkeys(("api_key", "apikey", "api-key", "access_key", "accesskey", "private_key"), _VALUE),
    "bearer": {"bearer": re.compile(r"\s{1,9}+([A-Za-z0-9._~+/=\-]{16,}+)")},
    "basic": {"authorization: basic": re.compile(r"\s{1,9}+([A-Za-z0-9+/]{12,}+=*+)")},
}
_END = 65_536  # characters; a model is told a quarter of it
# A next_page_token says where a list goes on: who pages through it needs it, and nobody else can use it.
_PLACES = re.compile(r"(?:page|next|continuation|resume|sync|cursor)[_-]?\Z")
_LONGEST_PLACE = 16  # characters
_SMALL_LETTERS = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST_KEY = 20_000  # characters
_KEY_SIGNS = re.compile(r"[A-Za-z0-9+/=\s\\]{0,20000}+")
_LEAST_MIXED = 12  # characters in a row of letters and digits: shorter ones are names
_NO_WORD = 32  # characters in a row that are no word, whatever they are
_LEAST_BITS = 3.0  # for each character: a password that somebody made up; a date or a repeated word has fewer


class HiddenValueUsed(Refusal):
    """The call holds the stand-in of a value that its model was not told: done, it would put the stand-in into that value's place."""

    code = "hidden_value"

    def __init__(self, stand_in: str) -> None:
        super().__init__(
            f"Not done: {stand_in} stands for a value that you are not shown, and is not the value itself. Leave the text around it as it "
            "is: change other lines with 'edits'. If the work needs the value, ask the person, who can show it to you."
        )


@value
class HiddenValue:
    kind: str
    text: str


class SecretHider:
    """Puts stand-ins into the texts of one message, and numbers its values across them.

    With `ends_only` it looks through the beginning and the end of a long text: no model is told more of it.
    """

    def __init__(self, *, ends_only: bool = False) -> None:
        self._ends_only = ends_only
        self._numbers: dict[str, int] = {}
        self.values: list[HiddenValue] = []

    def hide(self, text: str) -> str:
        """Returns the text with a stand-in for each value."""
        if self._ends_only and len(text) > 2 * _END:
            return "".join((self.hide(text[:_END]), text[_END:-_END], self.hide(text[-_END:])))
        spans = sorted(_spans(text))
        if not spans:
            return text
        parts: list[str] = []
        position = 0
        for start, end, kind in spans:
            if start >= position:  # of two that overlap, this hides the first one whole; below, the rest of the second
                parts += (text[position:start], self._stand_in(kind, text[start:end]))
            elif end > position:
                parts.append(self._stand_in(kind, text[position:end]))
            position = max(position, end)
        return "".join((*parts, text[position:]))

    def json(self, body: JsonValue) -> JsonValue:
        """Returns JSON with stand-ins in all of its texts."""
        if isinstance(body, str):
            return self.hide(body)
        if isinstance(body, list):
            return [self.json(item) for item in body]
        return {name: self.json(item) for name, item in body.items()} if isinstance(body, dict) else body

    def object(self, body: Json) -> Json:
        return {name: self.json(item) for name, item in body.items()}

    def _stand_in(self, kind: str, text: str) -> str:
        number = self._numbers.setdefault(text, len(self._numbers) + 1)
        if number > len(self.values):
            self.values.append(HiddenValue(kind, text))
        return f"«hidden {number}: {kind}»"


def hidden_kinds(texts: Iterable[str]) -> Json:
    """Returns what the payload of a message says about the values in these texts; nothing where there are none."""
    hider = SecretHider(ends_only=True)
    for text in filter(None, texts):
        hider.hide(text)
    return {HIDDEN_VALUES: [hidden.kind for hidden in hider.values]} if hider.values else {}


def as_told(message: Message) -> Message:
    """Returns the message for the model, with stand-ins for the values that are noted in it. Text of people and models has none noted."""
    return _told(message)[0]


def hidden_values_of(message: Message) -> Sequence[HiddenValue]:
    """Returns the values that `as_told` hides, in the order of their numbers."""
    return _told(message)[1]


def _told(message: Message) -> tuple[Message, Sequence[HiddenValue]]:
    payload = message.payload or {}
    if HIDDEN_VALUES not in payload and IMPORT not in message.came_from:  # nobody looked through what was imported
        return message, ()
    hider = SecretHider(ends_only=True)
    content, payload = hider.hide(message.content), hider.object(payload)
    return (replace(message, content=content, payload=payload or None) if hider.values else message), hider.values


def as_exported(message: Message) -> Message:
    """Returns the message with stand-ins for every value in any of its texts, whoever wrote them."""
    hider = SecretHider()
    content, reasoning = hider.hide(message.content), message.reasoning and hider.hide(message.reasoning)
    payload = hider.object(message.payload) if message.payload else message.payload
    return replace(message, content=content, reasoning=reasoning, payload=payload) if hider.values else message


def is_revealed(message: Message) -> bool:
    """Whether the message is a note in which a person shows a hidden value to the model."""
    return message.role is Speaker.SYSTEM and message.payload is not None and REVEALED in message.payload


def stand_in_among(body: JsonValue) -> str | None:
    """Returns the first stand-in in the texts of JSON."""
    if isinstance(body, str):
        stand_in = STAND_IN.search(body) if "«hidden " in body else None
        return stand_in and stand_in[0]
    if isinstance(body, dict):
        body = [*body, *body.values()]
    for item in body if isinstance(body, list) else ():
        if (name := stand_in_among(item)) is not None:
            return name
    return None


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields where values are, and of what kind. A pattern is tried only where its mark stands in the text: most texts have none."""
    if _has_token_mark(text):
        tokens = (
            match for match in TOKEN.finditer(text) if not match[0].startswith(_LIKE_NAMES) or _looks_random(match[0])
        )
        yield from ((*match.span(), _kind_of_token(match[0])) for match in tokens)
    if "eyJ" in text:
        yield from ((*match.span(), "web token") for match in _WEB_TOKEN.finditer(text))
    if "://" in text:
        passwords = (match for match in _PASSWORD_IN_URL.finditer(text) if match[1].lower() not in _NO_PASSWORDS)
        yield from ((*match.span(1), "password") for match in passwords)
    if "PRIVATE KEY" in text:
        yield from _key_spans(text)
    yield from _named_spans(text)


def _has_token_mark(text: str) -> bool:
    for sign, marks in _TOKEN_MARKS.items():
        if sign in text:
            for mark in marks:
                if mark in text:
                    return True
    return False


def _named_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields the random values that follow a name which says what they are. By hand: a pattern for any case takes fifty times as long."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter that became two would move all places after it
        lower = text.translate(_SMALL_LETTERS)
    near = [names.items() for part, names in _NAMES.items() if part in lower]
    for name, after in chain.from_iterable(near):
        position = lower.find(name)
        while position >= 0:
            before = lower[max(0, position - _LONGEST_PLACE) : position]
            position += len(name)
            is_place = _PLACES.search(before) is not None
            if not is_place and (match := after.match(text, position)) and _looks_random(match[1]):
                yield (*match.span(1), "secret value" if after is _VALUE else "access token")
            position = lower.find(name, position)


def _key_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields private keys from their first line to their last. One without an end is hidden as far as its signs reach."""
    position = 0
    while begins := _KEY_BEGINS.search(text, position):
        end = text.find("-----END ", begins.end(), begins.end() + _LONGEST_KEY)
        closing = text.find("-----", end + 9, end + 80) if end >= 0 else -1
        signs = _KEY_SIGNS.match(text, begins.end())
        position = closing + 5 if closing >= 0 else signs.end() if signs else begins.end()
        yield begins.start(), position, "private key"


def _kind_of_token(token: str) -> str:
    return next((kind for start, kind in _NAMED_TOKENS.items() if token.startswith(start)), "API key")


def _looks_random(text: str) -> bool:
    """Whether somebody made it up or a program drew it: letters and digits mixed, and no name of words joined by signs."""
    longest = max(re.split(r"[_\-]", text), key=len)
    if len(longest) >= _NO_WORD:
        return True
    mixed = any(char.isdigit() for char in longest) and any(char.isalpha() for char in longest)
    return mixed and len(longest) >= _LEAST_MIXED and _bits(longest) >= _LEAST_BITS


def _bits(text: str) -> float:
    """Returns how much each character says, by how often the text has it."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
