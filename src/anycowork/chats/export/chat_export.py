"""Writes a chat as a file: its messages, its plans against what was done, and the end of its audit chain.

The file is made page by page while it is sent, so that a chat of any length takes the same memory.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Protocol, assert_never

import msgspec

from anycowork.chats.export.export_html import HtmlReport
from anycowork.chats.export.export_markdown import MarkdownExport
from anycowork.chats.export.exported_chat import ExportedChat
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.reader_view import ReaderView, ReaderViews
from anycowork.domain.audit import ChainEnd, ChainHead
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json, Message
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.domain.secret_values import SecretHider, as_exported
from anycowork.domain.values import replace, value
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


class ExportWriter(Protocol):
    """Writes one format, in this order: beginning, changes of all messages, all messages, end."""

    has_changes: bool

    def beginning(self) -> Iterable[str]: ...
    def changes(self, messages: Sequence[Message]) -> Iterable[str]: ...
    def messages(self, messages: Sequence[Message]) -> Iterable[str]: ...
    def end(self) -> Iterable[str]: ...


@value
class ExportedFile:
    """`content` fails half-way if the chat is deleted or the store refuses: what was sent until then is not the whole file."""

    name: str
    media_type: str
    content: AsyncIterator[bytes]


class ChatExport:
    def __init__(self, *, store: Store, plan_audit: PlanAudit, clock: Clock, views: ReaderViews) -> None:
        self._store = store
        self._plan_audit = plan_audit
        self._clock = clock
        self._views = views

    async def export(self, principal: Principal, chat_id: str, export_format: ExportFormat) -> ExportedFile:
        """Returns the file, without contents that this reader may not be told. Raises: NotFound."""
        view = await self._views.of(principal)
        chat = await require_chat(self._store, chat_id)
        chat = replace(chat, title=SecretHider().hide(chat.title))  # often the first words of a message
        end = await self._store.audit.end_of(
            chat_id
        )  # read first: what comes later is not covered by it, and not exported
        plans = await self._plan_audit.of_chat(chat_id)
        exported = ExportedChat(
            chat=chat,
            plans=tuple(map(SecretHider().object, plans if view is None else map(view.json, plans))),
            audit=_audit(end, self._store.audit_heads.newest),
            at=self._clock.now(),
            evidence=tuple(
                SecretHider().object({"turn_id": turn_id, "evidence": evidence})
                for turn_id, evidence in await self._store.turns.evidence(chat_id)
            ),
        )
        writer, ending, media_type = _writer(exported, export_format)
        content = self._content(chat_id, writer, end.seq if end else 0, view)
        return ExportedFile(_name(chat.title, ending), media_type, content)

    async def _content(
        self, chat_id: str, writer: ExportWriter, up_to: int, view: ReaderView | None
    ) -> AsyncIterator[bytes]:
        """Raises: NotFound if the chat is deleted meanwhile."""
        yield _encoded(writer.beginning())
        if writer.has_changes:
            async for page in self._store.messages.pages(chat_id, up_to=up_to):
                yield await asyncio.to_thread(_encoded, writer.changes(_viewed(page, view)))
        async for page in self._store.messages.pages(chat_id, up_to=up_to):
            yield await asyncio.to_thread(_encoded, writer.messages(_viewed(page, view)))
        if await self._store.audit.end_of(chat_id) is None:
            raise NotFound("chat", chat_id)
        yield _encoded(writer.end())


def _viewed(page: Sequence[Message], view: ReaderView | None) -> Sequence[Message]:
    return [as_exported(message if view is None else view.message(message)) for message in page]


def _writer(exported: ExportedChat, export_format: ExportFormat) -> tuple[ExportWriter, str, str]:
    match export_format:
        case ExportFormat.MARKDOWN:
            return MarkdownExport(exported), "md", "text/markdown; charset=utf-8"
        case ExportFormat.HTML:
            return HtmlReport(exported), "html", "text/html; charset=utf-8"
        case ExportFormat.JSON:
            return JsonExport(exported), "json", "application/json"
        case _:
            assert_never(export_format)


def _audit(end: ChainEnd | None, newest: ChainHead | None) -> Json:
    heads: Json | None = {"count": newest.count, "head": newest.head} if newest else None
    return {"end": end.hash if end else "", "last_seq": end.seq if end else 0, "heads": heads}


def _name(title: str, ending: str) -> str:
    """Returns a file name that every system takes."""
    characters = [character if character.isascii() and character.isalnum() else "-" for character in title[:80]]
    title_words: Sequence[str] = [word for word in "".join(characters).split("-") if word]
    return f"{'-'.join(title_words) or 'chat'}.{ending}"


def _encoded(lines: Iterable[str]) -> bytes:
    """Returns the lines, each with its line break."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


class JsonExport:
    """One object, indented by one space. Each message is written as soon as it is known."""

    has_changes = False

    def __init__(self, exported: ExportedChat) -> None:
        self._exported = exported
        self._last = ""  # the last message so far: it gets a comma if another one follows

    def beginning(self) -> Iterator[str]:
        chat = {
            key: value for key, value in self._exported.chat.to_json().items() if key not in ("messages", "exported")
        }
        yield f"{_indented(chat)[:-2]},"  # without the line that ends the object
        yield ' "messages": ['

    def changes(self, messages: Sequence[Message]) -> Iterable[str]:
        return ()

    def messages(self, messages: Sequence[Message]) -> Iterator[str]:
        for message in messages:
            if self._last:
                yield f"{self._last},"
            self._last = f"  {_indented(message.to_json(), level=2)}"

    def end(self) -> Iterator[str]:
        exported = {"at": self._exported.at, "audit": self._exported.audit, "plans": list(self._exported.plans)}
        exported["evidence"] = list(self._exported.evidence)
        if self._last:
            yield self._last
        yield " ],"
        yield f' "exported": {_indented(exported, level=1)}'
        yield "}"


def _indented(value: object, *, level: int = 0) -> str:
    text = msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    return text.replace("\n", "\n" + " " * level)  # a line break inside a text is escaped
