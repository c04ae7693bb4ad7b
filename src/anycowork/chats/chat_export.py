"""Reads everything an export of a chat holds: its messages, its plans against what was done, and the end of its audit chain."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, assert_never

import msgspec

from anycowork.chats.export_html import html_report
from anycowork.chats.export_markdown import markdown
from anycowork.chats.exported_chat import ExportedChat
from anycowork.chats.lookup import require_chat
from anycowork.chats.plan_audit import PlanAudit
from anycowork.domain.audit import ChainEnd, ChainHead
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock, Store
from anycowork.domain.values import value


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


class ExportStore(Store, Protocol):
    async def chain_end(self, chat_id: str) -> ChainEnd | None: ...
    def newest_head(self) -> ChainHead | None: ...


@value
class ExportedFile:
    name: str
    media_type: str
    content: bytes


class ChatExport:
    def __init__(self, *, store: ExportStore, plan_audit: PlanAudit, clock: Clock) -> None:
        self._store = store
        self._plan_audit = plan_audit
        self._clock = clock

    async def export(self, chat_id: str, wanted: ExportFormat) -> ExportedFile:
        """Raises: NotFound."""
        chat = await require_chat(self._store, chat_id)
        end = await self._store.chain_end(chat_id)  # read first: what comes later is not covered by it
        exported = ExportedChat(
            chat=chat,
            messages=tuple(await self._store.history(chat_id)),
            plans=tuple(await self._plan_audit.of_chat(chat_id)),
            audit=_audit(end, self._store.newest_head()),
            at=self._clock.now(),
        )
        return await asyncio.to_thread(_file, exported, wanted)  # a long chat takes seconds


def _file(exported: ExportedChat, wanted: ExportFormat) -> ExportedFile:
    title = exported.chat.title
    match wanted:
        case ExportFormat.MARKDOWN:
            return ExportedFile(_name(title, "md"), "text/markdown; charset=utf-8", _bytes(markdown(exported)))
        case ExportFormat.HTML:
            return ExportedFile(_name(title, "html"), "text/html; charset=utf-8", _bytes(html_report(exported)))
        case ExportFormat.JSON:
            return ExportedFile(_name(title, "json"), "application/json", _json(exported))
        case _:
            assert_never(wanted)


def _json(exported: ExportedChat) -> bytes:
    """Return the form that `anycowork import` reads."""
    whole: dict[str, object] = {
        **exported.chat.to_json(),
        "messages": [message.to_json() for message in exported.messages],
        "exported": {"at": exported.at, "audit": exported.audit, "plans": list(exported.plans)},
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=1)


def _audit(end: ChainEnd | None, newest: ChainHead | None) -> Json:
    heads: Json | None = {"count": newest.count, "head": newest.head} if newest else None
    return {"end": end.hash if end else "", "last_seq": end.seq if end else 0, "heads": heads}


def _name(title: str, ending: str) -> str:
    """Return a file name that every system takes."""
    kept = [one if one.isascii() and one.isalnum() else "-" for one in title[:80]]
    words: Sequence[str] = [word for word in "".join(kept).split("-") if word]
    return f"{'-'.join(words) or 'chat'}.{ending}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
