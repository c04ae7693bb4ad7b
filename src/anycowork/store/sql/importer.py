"""Imports old chat files leniently: keeps everything readable as it is and reports everything else. Nothing is lost silently."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import msgspec
from pydantic import JsonValue

from anycowork.domain.approvals import PlanRow, PlanState
from anycowork.domain.audit import START
from anycowork.domain.bounded_json import is_too_deep, read_json
from anycowork.domain.chats import Autonomy, Chat, ChatConfig
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.journal import AddChat
from anycowork.domain.messages import Json, Message, MessageType, Speaker, text_of
from anycowork.domain.origins import IMPORT
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.ports import Clock
from anycowork.domain.question import Question, Review, read_question, read_review
from anycowork.domain.times import stored_time
from anycowork.domain.values import replace, value
from anycowork.store.sql import approvals, chats, messages, records
from anycowork.store.sql.chat_file import ImportReport, StoredChat, chats_in
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.envelopes import RecordRow, encoded
from anycowork.store.sql.json_spans import JsonText
from anycowork.store.sql.writer import Writer

_NAMES = ("tool", "tool_name", "name")
_ARGUMENTS = ("parameters", "arguments", "input")
_CALL_IDS = ("tool_call_id", "call_id")
_OUTPUTS = ("result", "content", "output")
LONGEST_ID = 200
LONGEST_TITLE = 1_000
AT_ONCE = 200  # messages in memory
BYTES_AT_ONCE = 4_000_000  # of them
_NOT_ALLOWED = (
    "its folder '{folder}' is missing or not registered. The chat can be read, but no agent works in it until you register the folder: "
    "POST /workspaces, or start the server with --workspace"
)


def with_cards(message: Message, raw: Json, new_id: Callable[[], str]) -> Iterator[tuple[Message, Json]]:
    """Yields the message and a card for each call or result in it. The text keeps the message id; without text, the first card gets it."""
    cards = [*_calls(message, raw.get("tool_calls")), *_results(message, raw)]
    if message.message_type is not MessageType.TEXT or not cards:
        yield message, raw
        return
    has_text = message.content.strip() and not _repeats(message, cards)
    if has_text:
        yield message, raw
    for index, card in enumerate(cards):
        if index == 0 and not has_text:
            yield card, raw
        else:
            card_id = new_id()
            yield replace(card, id=card_id), {**raw, "id": card_id}


def _repeats(message: Message, cards: list[Message]) -> bool:
    """Tells whether the text only repeats a card: a result is often stored twice."""
    return any(card.message_type is MessageType.TOOL_RESULT and card.content == message.content for card in cards)


def _calls(message: Message, entries: JsonValue) -> Iterator[Message]:
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        function = entry.get("function")
        call = {**entry, **function} if isinstance(function, dict) else entry
        name = _first(call, _NAMES)
        if not isinstance(name, str) or not name:
            continue
        parameters = _object(_first(call, _ARGUMENTS))
        strict: Json = {"tool": name, "parameters": parameters, "terminate": call.get("terminate") is True}
        payload: Json = {"id": str(call.get("id") or ""), **strict}
        yield _card(message, MessageType.TOOL_CALL, Speaker.ASSISTANT, msgspec.json.encode(strict).decode(), payload)


def _results(message: Message, raw: Json) -> Iterator[Message]:
    result = raw.get("tool_result")
    if not isinstance(result, dict):
        return
    error = result.get("error")
    failed = (
        bool(error)
        or result.get("success") is False
        or result.get("is_error") is True
        or result.get("status") == "error"
    )
    output = text_of(_first(result, _OUTPUTS)) or text_of(error) or message.content
    payload: Json = {
        "tool_call_id": _call_id(result, raw),
        "tool": str(_first(result, _NAMES) or ""),
        "status": "error" if failed else "ok",
    }
    yield _card(message, MessageType.TOOL_RESULT, Speaker.TOOL, output, payload)


def _call_id(result: Json, raw: Json) -> str | None:
    """The id of the call that this result answers: its own word, else that of its message. A plain `id` may be the result's own."""
    candidates = [_first(result, _CALL_IDS), _first(raw, _CALL_IDS), result.get("id")]
    return next((str(candidate) for candidate in candidates if type(candidate) in (str, int) and candidate != ""), None)


def _card(message: Message, kind: MessageType, speaker: Speaker, content: str, payload: Json) -> Message:
    return replace(message, message_type=kind, role=speaker, content=content, payload=payload)


def _first(document: Json, keys: tuple[str, ...]) -> JsonValue:
    return next((document[key] for key in keys if document.get(key) is not None), None)


def _object(value: JsonValue) -> Json:
    """Reads arguments, which some stores keep as text. Other values stay readable under a separate key."""
    if isinstance(value, str):
        try:
            value = read_json(value)
        except ValueError:
            return {"arguments": value}
    return value if isinstance(value, dict) else {} if value is None else {"arguments": value}


@value
class Importer:
    """Imports chats. Chats that name no workspace get `workspace`. `may_work_in` tells whether agents may work in a folder;
    a chat with any other folder is imported with a note."""

    writer: Writer
    clock: Clock
    workspace: str
    principal: str
    may_work_in: Callable[[str], bool] = lambda folder: True

    async def load(self, text: JsonText) -> ImportReport:
        """Imports every chat in a file: an object, a list, `contexts` or `chats`, or JSON lines. Each chat is imported whole or not at all.
        Importing the same file twice changes nothing.

        The text may be a mapped file of any size: one message of it is in memory at a time, and it is read on other threads.

        Raises: StorageFault.
        """
        report = ImportReport()
        stored_chats = chats_in(text, report)
        while (chat := await asyncio.to_thread(next, stored_chats, None)) is not None:
            report.add(await self.writer.run(partial(self._load, stored=chat)))
        return report

    def _load(self, connection: SqlConnection, *, stored: StoredChat) -> ImportReport:
        if chats.imported(connection, stored.content_hash):
            return ImportReport(already_there=1)
        report = ImportReport(chats=1)
        chat = self._chat(connection, stored.fields)
        if not self.may_work_in(chat.workspace):
            report.note(stored.where, _NOT_ALLOWED.format(folder=chat.workspace[:200]))
        chats.add(connection, AddChat(chat, self.principal), import_hash=stored.content_hash)
        chain = START
        imported = self._messages(connection, chat, stored, report)
        for batch in _batches(imported):
            chain = self._insert(connection, batch, first=report.messages + 1, chain=chain)
            report.messages += len(batch)
        chats.advance(connection, [chats.ChatEnd(report.messages + 1, chain, chat.updated_at, chat.id, START)])
        return report

    def _insert(
        self,
        connection: SqlConnection,
        batch: Sequence[tuple[Message, Json]],
        *,
        first: int,
        chain: str,
    ) -> str:
        """Inserts messages with the numbers from `first` on. Returns the new end of the chain."""
        raws = [
            (message.id, message.chat_id, seq, msgspec.json.encode(raw))
            for seq, (message, raw) in enumerate(batch, first)
        ]
        entries = [self._entry(seq, new_message) for seq, (new_message, _) in enumerate(batch, first)]
        positions = connection.dialect.take_positions(connection, len(entries))
        rows, chain = records.chained(entries, positions=positions, chain=chain)
        messages.insert_imported(connection, raws)
        records.insert(connection, rows)
        for new_message, _ in batch:
            if new_message.message_type is MessageType.PLAN:
                approvals.add_plan(connection, PlanRow(new_message.id, new_message.chat_id, PlanState.OPEN))
        return chain

    def _chat(self, connection: SqlConnection, item: Json) -> Chat:
        chat_id, now = _id(item.get("id") or item.get("session_id")), self.clock.now()
        if chat_id is None or chats.stored_chat(connection, chat_id) is not None:
            chat_id = self.clock.new_id()
        created_at = stored_time(item.get("created_at")) or now
        return Chat(
            id=chat_id,
            title=(_text(item.get("title")) or "Imported chat")[:LONGEST_TITLE],
            workspace=_resolve_folder(_text(item.get("workspace")) or self.workspace),
            config=replace(
                ChatConfig.from_stored(_config(item)), autonomy=Autonomy.ASK
            ),  # only a person raises it, on this server
            created_at=created_at,
            updated_at=stored_time(item.get("updated_at")) or created_at,
            extra={key: value for key, value in item.items() if key not in _CHAT_FIELDS},
        )

    def _messages(
        self, connection: SqlConnection, chat: Chat, stored: StoredChat, report: ImportReport
    ) -> Iterator[tuple[Message, Json]]:
        if "messages" in stored.fields:
            report.problem(stored.where, f"'messages' is a list, this is {_kind(stored.fields['messages'])}")
            return
        recent: dict[str, bytes] = {}  # those that may not be inserted yet
        for number, raw in enumerate(stored.messages(), 1):
            if not isinstance(raw, dict):
                report.problem(f"{stored.where}, message {number}", f"a message is an object, this is {_kind(raw)}")
                continue
            message_id = _id(raw.get("id")) or self.clock.new_id()
            fields = {**raw, "id": message_id, "created_at": raw.get("created_at") or chat.created_at}
            digest = _digest(msgspec.json.encode(fields))
            earlier = recent.get(message_id) or _earlier(connection, chat.id, message_id)
            if earlier == digest:
                continue
            if earlier is not None or approvals.PlanTable.find(connection, message_id) is not None:
                message_id = self.clock.new_id()
                fields["id"] = message_id
            recent[message_id] = digest
            if len(recent) > AT_ONCE:
                del recent[next(iter(recent))]
            message = _parse_content(Message.from_stored(chat.id, {"payload": _metadata(raw), **fields}))
            yield from with_cards(message, fields, self.clock.new_id)

    def _entry(self, seq: int, message: Message) -> RecordRow:
        message = replace(message, origins=frozenset({IMPORT}))  # whatever it claims
        draft = NewEvent(
            EventType.MESSAGE, {"message": {**message.to_json(), "seq": seq}}, principal=self.principal, cause="import"
        )
        body = encoded(
            draft, seq=seq, record_id=self.clock.new_id(), chat_id=message.chat_id, recorded_at=self.clock.now()
        )
        return RecordRow(message.chat_id, seq, EventType.MESSAGE, body)


_CHAT_FIELDS = {
    "id",
    "title",
    "workspace",
    "config",
    "created_at",
    "updated_at",
    "messages",
    "state",
    "last_seq",
    "pinned",
    "archived",
}
_DOCUMENTS: Mapping[MessageType, Callable[[Json], Plan | Question | Review | None]] = {
    MessageType.PLAN: read_plan,
    MessageType.QUESTION: read_question,
    MessageType.REVIEW: read_review,
}


def _parse_content(message: Message) -> Message:
    """Parses plans, questions and reviews, also where only their text was stored. One that cannot be parsed becomes text."""
    read = _DOCUMENTS.get(message.message_type)
    if read is None:
        return message
    for candidate in (message.payload, _object_in(message.content)):
        if candidate is not None and (document := read(candidate)) is not None:
            return replace(message, payload=document.to_json())
    return replace(message, message_type=MessageType.TEXT)


def _metadata(raw: Json) -> Json | None:
    """Reads what older stores keep beside the text: JSON text in a separate column."""
    metadata = raw.get("metadata_json")
    return _object_in(metadata) if isinstance(metadata, str) else metadata if isinstance(metadata, dict) else None


def _object_in(text: str) -> Json | None:
    try:
        source = text[text.find("{") : text.rfind("}") + 1].encode()
        document = msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError):
        return None
    return document if isinstance(document, dict) and not is_too_deep(document, source) else None


def _config(item: Json) -> Json:
    """Returns the stored configuration. Older files put the role on the chat itself, or only its mode."""
    config = item.get("config")
    stored: Json = dict(config) if isinstance(config, dict) else {}
    if not (stored.get("agent_role") or stored.get("agent_mode")):
        roles = [item.get("agent_role"), item.get("agent_mode")]
        roles += [mode for mode in (stored.get("mode"), item.get("mode")) if mode in ("plan", "act")]
        if role := next((word for word in roles if isinstance(word, str) and word), None):
            stored["agent_role"] = role
    return stored


def _batches(pairs: Iterator[tuple[Message, Json]]) -> Iterator[list[tuple[Message, Json]]]:
    batch: list[tuple[Message, Json]] = []
    size = 0
    for message, raw in pairs:
        batch.append((message, raw))
        size += len(message.content)
        if len(batch) == AT_ONCE or size > BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _earlier(connection: SqlConnection, chat_id: str, message_id: str) -> bytes | None:
    raw = messages.imported_form(connection, chat_id, message_id)
    return None if raw is None else _digest(raw)


def _digest(raw: bytes) -> bytes:
    return sha256(raw).digest()


def _id(raw_id: JsonValue) -> str | None:
    """Returns the id if it can be part of a URL; other ids are replaced."""
    if isinstance(raw_id, int) and not isinstance(raw_id, bool):
        return str(raw_id)
    if (
        isinstance(raw_id, str)
        and 0 < len(raw_id) <= LONGEST_ID
        and raw_id.isprintable()
        and not set(raw_id) & set("/?#% ")
    ):
        return raw_id
    return None


def _resolve_folder(folder: str) -> str:
    """Resolves links now, so that the chat never works in the later target of a link."""
    try:
        return str(Path(folder).resolve())
    except (OSError, RuntimeError, ValueError):
        return folder  # not a path: the chat's first turn reports it


def _text(raw_text: JsonValue) -> str | None:
    return raw_text if isinstance(raw_text, str) and raw_text else None


def _kind(document: JsonValue) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(document), "a number")
