"""Full-text search without a database: the words of a query, a snippet that shows where they occur, and the words of JSON. Pure."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from pydantic import JsonValue

from anycowork.domain.bounded_json import read_json
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.values import value

MOST_TERMS = 16
_BEFORE, _LENGTH = 60, 220  # characters of a snippet
_PIECE, _LOOKED_THROUGH = 100_000, 2_000_000  # characters


@value
class SearchTerm:
    """Words that must follow each other. `prefix`: the last word may go on."""

    words: tuple[str, ...]
    prefix: bool = False


@value
class SnippetPart:
    text: str
    match: bool = False

    def to_json(self) -> Json:
        return {"text": self.text, "match": self.match}


@value
class SearchResult:
    chat_id: str
    message_id: str
    title: str
    role: str
    created_at: str
    parts: tuple[SnippetPart, ...]

    def to_json(self) -> Json:
        return {
            "context_id": self.chat_id,
            "message_id": self.message_id,
            "title": self.title,
            "role": self.role,
            "snippet": "".join(part.text for part in self.parts),
            "parts": [part.to_json() for part in self.parts],
            "created_at": self.created_at,
        }


def read_query(query: str) -> tuple[SearchTerm, ...]:
    """Reads what a person typed: words that must all occur, "words in quotes" one after the other. The last word may be unfinished.

    Nothing in it is an operator, so there is no query that cannot be read.
    """
    terms: list[SearchTerm] = []
    for number, piece in enumerate(query.split('"')):
        quoted = number % 2 == 1
        for part in [piece] if quoted else piece.split():
            if term_words := tuple(_words(part)):
                terms.append(SearchTerm(term_words))
    del terms[MOST_TERMS:]
    if terms and query[-1:].isalnum() and len(terms[-1].words[-1]) > 1:
        terms[-1] = SearchTerm(terms[-1].words, prefix=True)
    return tuple(terms)


def snippet(text: str, terms: Sequence[SearchTerm]) -> tuple[SnippetPart, ...]:
    """Returns one line around the first match, with every match in it marked. A match far inside a huge text is not looked for."""
    ranges = _matches(text, terms)
    start = max(0, ranges[0][0] - _BEFORE) if ranges else 0
    end = min(len(text), start + _LENGTH)
    parts, position = [SnippetPart("…")] if start else [], start
    for first, last in ranges:
        if first >= position and last <= end:
            parts += [SnippetPart(text[position:first]), SnippetPart(text[first:last], match=True)]
            position = last
    parts.append(SnippetPart(text[position:end] + ("…" if end < len(text) else "")))
    on_one_line = [SnippetPart(_one_line(part.text), part.match) for part in parts]
    return tuple(part for part in on_one_line if part.text)


def fold(text: str) -> str:
    """Returns the text without case and accents, character by character: positions stay the same."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character.lower())
    return plain[0] if plain else character


def index_words(text: str) -> Iterator[str]:
    """Yields the words of a text as an index holds them: without case and accents."""
    for word in _words(text):
        plain = fold(word)
        yield plain if plain.isascii() else "".join(char for char in plain if not unicodedata.combining(char))


def _words(text: str) -> Iterator[str]:
    """Yields each run of letters and digits."""
    spaced = "".join(char if char.isalnum() or unicodedata.combining(char) else " " for char in text)
    return (word for word in spaced.split() if any(map(str.isalnum, word)))


def _matches(text: str, terms: Sequence[SearchTerm]) -> list[tuple[int, int]]:
    """Returns where words of the terms begin and end, ascending: the first of all, and those that fit beside it."""
    search_words = {(fold(word), term.prefix and word == term.words[-1]) for term in terms for word in term.words}
    for piece in range(0, min(len(text), _LOOKED_THROUGH), _PIECE):  # a text of many megabytes is not folded whole
        start = max(0, piece - _LENGTH)  # a word may begin in the piece before
        folded = fold(text[start : piece + _PIECE + _LENGTH])
        spans = (span for word, prefix in search_words for span in _occurrences(folded, word, 0, prefix))
        if (first := min((begin for begin, _ in spans), default=None)) is not None:
            near = folded[: first + _LENGTH]
            return sorted(
                (start + begin, start + end)
                for begin, end in {
                    span
                    for word, prefix in search_words
                    for span in _occurrences(near, word, first, prefix, most=_LENGTH)
                }
            )
    return []


def _occurrences(folded: str, word: str, start: int, prefix: bool, *, most: int = 1) -> Iterator[tuple[int, int]]:
    while most and (start_of_match := folded.find(word, start)) >= 0:
        start = end = start_of_match + len(word)
        while prefix and end < len(folded) and folded[end].isalnum():
            end += 1
        is_word_start = start_of_match == 0 or not folded[start_of_match - 1].isalnum()
        if is_word_start and (end == len(folded) or not folded[end].isalnum()):
            yield start_of_match, end
            most -= 1


def _one_line(text: str) -> str:
    return "".join(" " if character.isspace() or not character.isprintable() else character for character in text)


_FENCE = "```json"
_LARGEST = 2_000_000  # characters: a larger text is shown as it is
# In the order in which people read them. Marks, ids and numbers are no words.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "plan": ("goal", "steps", "risks", "prerequisites"),
    "question": ("question", "context", "options"),
    "review": ("summary", "findings"),
}
_PART_FIELDS = ("action", "reason", "check", "commands", "label", "value", "path", "paths", "problem", "suggestion")


def words_of(message: Message) -> str:
    """Returns the message as a person reads it: a document's words instead of its JSON, anything else as it is stored."""
    try:
        return _document_words(message) or message.content
    except RecursionError:  # a model may nest a thousand lists
        return message.content


def _document_words(message: Message) -> str:
    document = _document(message)
    if document is None:
        return ""
    values = (document.get(field) for field in _FIELDS[str(document["type"])])
    return "\n".join((*_introduction(message), *(line for value in values for line in _lines(value))))


def _introduction(message: Message) -> tuple[str, ...]:
    """Returns what an approved plan is handed over with: it stands before the plan."""
    return (message.content.partition(_FENCE)[0].strip(),) if _is_approval(message) else ()


def _is_approval(message: Message) -> bool:
    return message.role is Speaker.USER and "plan_id" in (message.payload or {})


def _document(message: Message) -> Json | None:
    if message.role is Speaker.ASSISTANT and message.payload and _is_document(message.payload):
        return message.payload
    content = message.content.partition(_FENCE)[2] if _is_approval(message) else message.content
    text = content.strip().removeprefix(_FENCE).removeprefix("```").removesuffix("```").strip()
    if not text.startswith("{") or len(text) > _LARGEST:
        return None
    try:
        document = read_json(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) and _is_document(document) else None


def _is_document(document: Json) -> bool:
    return str(document.get("type")) in _FIELDS


def _lines(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _lines(part)
    elif isinstance(value, dict):
        for field in _PART_FIELDS:
            yield from _lines(value.get(field))
