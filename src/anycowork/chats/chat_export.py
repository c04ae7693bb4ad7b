"""Writes a chat as a file: its messages, its plans against what was done, and the end of its audit chain.

The file is made page by page while it is sent, so that a chat of any length takes the same memory.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from enum import StrEnum
from typing import Protocol, assert_never

from anycowork.chats.export_html import HtmlReport
from anycowork.chats.export_json import JsonExport
from anycowork.chats.export_markdown import MarkdownExport
from anycowork.chats.exported_chat import ExportedChat
from anycowork.chats.lookup import require_chat
from anycowork.chats.plan_audit import PlanAudit
from anycowork.domain.audit import ChainEnd, ChainHead
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json, Message
from anycowork.domain.ports import Clock, Store
from anycowork.domain.values import value


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


class ExportStore(Store, Protocol):
    async def chain_end(self, chat_id: str) -> ChainEnd | None: ...
    def newest_head(self) -> ChainHead | None: ...


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
    def __init__(self, *, store: ExportStore, plan_audit: PlanAudit, clock: Clock) -> None:
        self._store = store
        self._plan_audit = plan_audit
        self._clock = clock

    async def export(self, chat_id: str, wanted: ExportFormat) -> ExportedFile:
        """Raises: NotFound."""
        chat = await require_chat(self._store, chat_id)
        end = await self._store.chain_end(
            chat_id
        )  # read first: what comes later is not covered by it, and not exported
        exported = ExportedChat(
            chat=chat,
            plans=tuple(await self._plan_audit.of_chat(chat_id)),
            audit=_audit(end, self._store.newest_head()),
            at=self._clock.now(),
        )
        writer, ending, media_type = _writer(exported, wanted)
        content = self._content(chat_id, writer, end.seq if end else 0)
        return ExportedFile(_name(chat.title, ending), media_type, content)

    async def _content(self, chat_id: str, writer: ExportWriter, up_to: int) -> AsyncIterator[bytes]:
        """Raises: NotFound if the chat is deleted meanwhile."""
        yield _encoded(writer.beginning())
        if writer.has_changes:
            async for page in self._store.message_pages(chat_id, up_to=up_to):
                yield await asyncio.to_thread(_encoded, writer.changes(page))
        async for page in self._store.message_pages(chat_id, up_to=up_to):
            yield await asyncio.to_thread(_encoded, writer.messages(page))
        if await self._store.chain_end(chat_id) is None:
            raise NotFound("chat", chat_id)
        yield _encoded(writer.end())


def _writer(exported: ExportedChat, wanted: ExportFormat) -> tuple[ExportWriter, str, str]:
    match wanted:
        case ExportFormat.MARKDOWN:
            return MarkdownExport(exported), "md", "text/markdown; charset=utf-8"
        case ExportFormat.HTML:
            return HtmlReport(exported), "html", "text/html; charset=utf-8"
        case ExportFormat.JSON:
            return JsonExport(exported), "json", "application/json"
        case _:
            assert_never(wanted)


def _audit(end: ChainEnd | None, newest: ChainHead | None) -> Json:
    heads: Json | None = {"count": newest.count, "head": newest.head} if newest else None
    return {"end": end.hash if end else "", "last_seq": end.seq if end else 0, "heads": heads}


def _name(title: str, ending: str) -> str:
    """Return a file name that every system takes."""
    kept = [one if one.isascii() and one.isalnum() else "-" for one in title[:80]]
    words: Sequence[str] = [word for word in "".join(kept).split("-") if word]
    return f"{'-'.join(words) or 'chat'}.{ending}"


def _encoded(lines: Iterable[str]) -> bytes:
    """Return the lines, each with its line break."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
