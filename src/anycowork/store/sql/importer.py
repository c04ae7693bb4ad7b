"""Imports old chat files leniently: keeps everything readable as it is and reports everything else. Nothing is lost silently."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path

import msgspec
from pydantic import JsonValue

from anycowork.domain.approvals import PlanRow, PlanState
from anycowork.domain.audit import START
from anycowork.domain.chats import Autonomy, Chat, ChatConfig
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.journal import AddChat
from anycowork.domain.json_depth import MAX_DEPTH, is_too_deep
from anycowork.domain.messages import Json, Message, MessageType
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.ports import Clock
from anycowork.domain.question import Question, read_question
from anycowork.domain.review import Review, read_review
from anycowork.domain.times import stored_time
from anycowork.domain.values import replace, value
from anycowork.store.sql import chats, messages, questions_and_plans, records
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.envelopes import encoded
from anycowork.store.sql.imported_calls import with_cards
from anycowork.store.sql.records import RecordRow
from anycowork.store.sql.writer import Writer

LONGEST_ID = 200
_NOT_ALLOWED = (
    "its folder '{folder}' is missing or not registered. The chat can be read, but no agent works in it until you register the folder: "
    "POST /workspaces, or start the server with --workspace"
)


@value
class ImportProblem:
    """A part that could not be imported. `where` names the line or the item, counted from 1."""

    where: str
    reason: str


@dataclass(slots=True)
class ImportReport:
    chats: int = 0
    messages: int = 0
    already_there: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    notes: list[ImportProblem] = field(default_factory=list)

    def add(self, other: "ImportReport") -> None:
        self.chats += other.chats
        self.messages += other.messages
        self.already_there += other.already_there
        self.problems += other.problems
        self.notes += other.notes


@value
class Importer:
    """Imports chats. Chats that name no workspace get `workspace`. `may_work_in` tells whether agents may work in a folder;
    a chat with any other folder is imported with a note."""

    writer: Writer
    clock: Clock
    workspace: str
    principal: str
    may_work_in: Callable[[str], bool] = lambda folder: True

    async def load(self, source: bytes) -> ImportReport:
        """Imports every chat in a file: an object, a list, `contexts` or `chats`, or JSON lines. Importing the same file twice changes
        nothing.

        Raises: StorageFault.
        """
        report = ImportReport()
        for where, item in _items(source, report):
            if is_too_deep(item, source):
                report.problems.append(ImportProblem(where, str(_TooDeep())))
                continue
            if not isinstance(item, dict):
                report.problems.append(ImportProblem(where, f"a chat is an object, this is {_kind(item)}"))
                continue
            if not _MARKS_OF_A_CHAT & item.keys():
                report.problems.append(ImportProblem(where, "a chat has 'messages', this object has none"))
                continue
            report.add(await self.writer.run(partial(self._load, where=where, item=item)))
        return report

    def _load(self, connection: SqlConnection, *, where: str, item: Json) -> ImportReport:
        content_hash = sha256(msgspec.json.encode(item, order="sorted")).hexdigest()
        if chats.imported(connection, content_hash):
            return ImportReport(already_there=1)
        report = ImportReport(chats=1)
        chat = self._chat(connection, item)
        if not self.may_work_in(chat.workspace):
            report.notes.append(ImportProblem(where, _NOT_ALLOWED.format(folder=chat.workspace[:200])))
        chats.add(connection, AddChat(chat, self.principal), import_hash=content_hash)
        stored = list(self._messages(connection, chat, item, where, report))
        raws = [(message.id, chat.id, seq, msgspec.json.encode(raw)) for seq, (message, raw) in enumerate(stored, 1)]
        entries = [self._entry(seq, message) for seq, (message, _) in enumerate(stored, 1)]
        rows, chain = records.chained(entries, position=records.next_position(connection), chain=START)
        messages.insert_imported(connection, raws)
        records.insert(connection, rows)
        for message, _ in stored:
            if message.message_type is MessageType.PLAN:
                questions_and_plans.add_plan(connection, PlanRow(message.id, chat.id, PlanState.OPEN))
        chats.advance(connection, [chats.End(len(stored) + 1, chain, chat.updated_at, chat.id, START)])
        report.messages = len(stored)
        return report

    def _chat(self, connection: SqlConnection, item: Json) -> Chat:
        chat_id, now = _id(item.get("id") or item.get("session_id")), self.clock.now()
        if chat_id is None or chats.find(connection, chat_id) is not None:
            chat_id = self.clock.new_id()
        created_at = stored_time(item.get("created_at")) or now
        return Chat(
            id=chat_id,
            title=_text(item.get("title")) or "Imported chat",
            workspace=_resolve_folder(_text(item.get("workspace")) or self.workspace),
            config=replace(
                ChatConfig.from_stored(_config(item)), autonomy=Autonomy.ASK
            ),  # only a person raises it, on this server
            created_at=created_at,
            updated_at=stored_time(item.get("updated_at")) or created_at,
            extra={key: value for key, value in item.items() if key not in _CHAT_FIELDS},
        )

    def _messages(
        self, connection: SqlConnection, chat: Chat, item: Json, where: str, report: ImportReport
    ) -> Iterator[tuple[Message, Json]]:
        listed = item.get("messages", [])
        if not isinstance(listed, list):
            report.problems.append(ImportProblem(where, f"'messages' is a list, this is {_kind(listed)}"))
            return
        seen: dict[str, Json] = {}
        for number, raw in enumerate(listed, 1):
            if not isinstance(raw, dict):
                report.problems.append(
                    ImportProblem(f"{where}, message {number}", f"a message is an object, this is {_kind(raw)}")
                )
                continue
            message_id = _id(raw.get("id"))
            if message_id is not None and seen.get(message_id) == raw:
                continue
            if message_id is None or message_id in seen or questions_and_plans.plan(connection, message_id) is not None:
                message_id = self.clock.new_id()
            seen[message_id] = raw
            kept = {**raw, "id": message_id, "created_at": raw.get("created_at") or chat.created_at}
            message = _parse_content(Message.from_stored(chat.id, {"payload": _metadata(raw), **kept}))
            yield from with_cards(message, kept, self.clock.new_id)

    def _entry(self, seq: int, message: Message) -> RecordRow:
        draft = NewEvent(
            EventType.MESSAGE, {"message": {**message.to_json(), "seq": seq}}, principal=self.principal, cause="import"
        )
        body = encoded(draft, seq=seq, record_id=self.clock.new_id(), chat_id=message.chat_id, at=self.clock.now())
        return RecordRow(message.chat_id, seq, EventType.MESSAGE, body)


_MARKS_OF_A_CHAT = {"messages", "id", "session_id", "config", "title", "agent_role", "agent_mode"}
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


def _items(source: bytes, report: ImportReport) -> Iterator[tuple[str, JsonValue]]:
    try:
        whole = _decode(source)
    except msgspec.DecodeError:
        yield from _lines(source, report)
        return
    except _TooDeep as fault:
        report.problems.append(ImportProblem("file", str(fault)))
        return
    listed = _listed(whole) if isinstance(whole, dict) else whole
    if not isinstance(listed, list):
        report.problems.append(ImportProblem("file", f"a file holds chats, this is {_kind(listed)}"))
        return
    yield from ((f"item {number}", item) for number, item in enumerate(listed, 1))


def _listed(whole: Json) -> JsonValue:
    for key in ("contexts", "chats"):
        if isinstance(whole.get(key), list):
            return whole[key]
    return [whole]


def _lines(source: bytes, report: ImportReport) -> Iterator[tuple[str, JsonValue]]:
    for number, line in enumerate(source.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", _decode(line)
        except msgspec.DecodeError as error:
            report.problems.append(ImportProblem(f"line {number}", f"not JSON ({error})"))
        except _TooDeep as fault:
            report.problems.append(ImportProblem(f"line {number}", str(fault)))


class _TooDeep(ValueError):
    def __init__(self) -> None:
        super().__init__(f"it is nested deeper than {MAX_DEPTH} levels, so it was not read")


def _decode(source: bytes) -> JsonValue:
    """Raises: msgspec.DecodeError, _TooDeep."""
    try:
        decoded: JsonValue = msgspec.json.decode(source.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise _TooDeep from None
    return decoded


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
    for found in (message.payload, _object_in(message.content)):
        if found is not None and (document := read(found)) is not None:
            return replace(message, payload=document.to_json())
    return replace(message, message_type=MessageType.TEXT)


def _metadata(raw: Json) -> Json | None:
    """Reads what older stores keep beside the text: JSON text in a separate column."""
    found = raw.get("metadata_json")
    return _object_in(found) if isinstance(found, str) else found if isinstance(found, dict) else None


def _object_in(text: str) -> Json | None:
    try:
        source = text[text.find("{") : text.rfind("}") + 1].encode()
        found = _decode(source)
    except (msgspec.DecodeError, _TooDeep):
        return None
    return found if isinstance(found, dict) and not is_too_deep(found, source) else None


def _config(item: Json) -> Json:
    """Returns the stored configuration. Older files put the role on the chat itself, or only its mode."""
    config = item.get("config")
    stored: Json = dict(config) if isinstance(config, dict) else {}
    if not (stored.get("agent_role") or stored.get("agent_mode")):
        words = [item.get("agent_role"), item.get("agent_mode")]
        words += [mode for mode in (stored.get("mode"), item.get("mode")) if mode in ("plan", "act")]
        if role := next((word for word in words if isinstance(word, str) and word), None):
            stored["agent_role"] = role
    return stored


def _id(found: JsonValue) -> str | None:
    """Returns the id if it can be part of a URL; other ids are replaced."""
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if (
        isinstance(found, str)
        and 0 < len(found) <= LONGEST_ID
        and found.isprintable()
        and not set(found) & set("/?#% ")
    ):
        return found
    return None


def _resolve_folder(folder: str) -> str:
    """Resolves links now, so that the chat never works in the later target of a link."""
    try:
        return str(Path(folder).resolve())
    except (OSError, RuntimeError, ValueError):
        return folder  # not a path: the chat's first turn reports it


def _text(found: JsonValue) -> str | None:
    return found if isinstance(found, str) and found else None


def _kind(found: JsonValue) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(found), "a number")
