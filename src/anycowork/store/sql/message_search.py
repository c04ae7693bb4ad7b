"""The full-text index over what people and agents wrote. A row's id is the position of the message's record, which holds the text."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, Message, MessageType
from anycowork.domain.text_search import SearchResult, SearchTerm, read_query, snippet, words_of
from anycowork.domain.visibility import Viewer
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.row_mapper import from_json_text
from anycowork.store.sql.visibility import VisibilityTable

Row = tuple[int, bytes]
"""The position and the body of a message's record."""


def index(connection: SqlConnection, rows: Iterable[Row]) -> None:
    """Adds messages, in the transaction that inserts their records."""
    if texts := list(_texts(rows)):
        connection.dialect.index(connection, texts)


def unindex(connection: SqlConnection, rows: Iterable[Row]) -> None:
    """Removes messages. An index without a copy of their text is given the same text again."""
    connection.dialect.unindex(connection, list(_texts(rows)))


def search(
    connection: SqlConnection, query: str, *, limit: int, before: str | None = None, viewer: Viewer | None = None
) -> tuple[list[SearchResult], str | None]:
    """Returns messages that contain all words of the query, newest first, and the cursor of the next page; with a viewer, those that
    this person may see.

    Raises: Invalid for a cursor that is none.
    """
    terms, newest = read_query(query), _read_cursor(before)
    if not terms:
        return [], None
    rows, following = list[tuple[int, str, str, bytes]](), newest
    while len(rows) <= limit:
        matches = _matches(connection, connection.dialect.match(terms), following, limit + 1)
        hidden = _hidden_chats(connection, viewer, matches)
        rows += [row for row in matches if row[1] not in hidden]
        if len(matches) <= limit:
            break
        following = matches[-1][0]
    results = [_result(chat_id, title, body, terms) for _, chat_id, title, body in rows[:limit]]
    return results, str(rows[limit - 1][0]) if len(rows) > limit else None


def _matches(connection: SqlConnection, expression: str, before: int, limit: int) -> list[tuple[int, str, str, bytes]]:
    # Newest first is the order of the index itself: only the rows of the page are read, however many match.
    return connection.execute(
        f"SELECT found.position, records.chat_id, chats.title, records.body FROM ({connection.dialect.search}) AS found"
        " JOIN records ON records.position = found.position JOIN chats ON chats.id = records.chat_id"
        " ORDER BY found.position DESC",
        (expression, before, limit),
    ).fetchall()


def _hidden_chats(
    connection: SqlConnection, viewer: Viewer | None, matches: Sequence[tuple[int, str, str, bytes]]
) -> set[str]:
    chat_ids = list({chat_id for _, chat_id, _, _ in matches})
    return set() if viewer is None else VisibilityTable.hidden_chats(connection, viewer, chat_ids)


def _result(chat_id: str, title: str, body: bytes, terms: Sequence[SearchTerm]) -> SearchResult:
    message = Message.from_stored(chat_id, _stored(body))
    parts = snippet(words_of(message), terms)
    return SearchResult(chat_id, message.id, title, str(message.role), message.created_at, parts)


class _MessageText(msgspec.Struct):
    content: str
    message_type: str = ""


class _RecordedMessage(msgspec.Struct):
    message: _MessageText


_decoder = msgspec.json.Decoder(_RecordedMessage)
_NOT_INDEXED = frozenset({MessageType.TOOL_CALL.value, MessageType.TOOL_RESULT.value})


def _texts(rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
    for position, body in rows:
        message = _decoder.decode(body).message
        if message.content and message.message_type not in _NOT_INDEXED:
            yield position, message.content


def _stored(body: bytes) -> Json:
    message = from_json_text(body)["message"]
    return message if isinstance(message, dict) else {}


def _read_cursor(before: str | None) -> int:
    if before is None:
        return 2**62
    if not (before.isascii() and before.isdigit() and len(before) < 19):
        raise Invalid(f"'{before}' is not a cursor. Send the 'next' value of the previous page.", param="before")
    return int(before)
