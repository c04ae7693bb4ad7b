"""Passes requests to the process that has their chat, and answers back, through a table. Each is taken once."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any  # rows have no types

import msgspec

from anycowork.domain.errors import ChatHeld, StorageFault
from anycowork.domain.forwarded_requests import ForwardedAnswer, ForwardedRequest
from anycowork.domain.principals import Principal
from anycowork.store.postgres.peer_table import Fetch

ANSWER_SECONDS = 20.0
POLL_SECONDS = 0.1
_OLD = "10 minutes"  # nobody waits so long for an answer
_PUT = """
INSERT INTO forwarded_requests (id, peer_id, chat_id, principal, method, path, query, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_TAKE = """
UPDATE forwarded_requests SET taken_by = $1 WHERE taken_by IS NULL AND peer_id = $1
RETURNING id, chat_id, principal, method, path, query, body, created_at
"""
log = logging.getLogger(__name__)
Handler = Callable[[ForwardedRequest], Awaitable[ForwardedAnswer]]


class ForwardedRequests:
    """Forwards requests to the process that has the chat, and hands requests that others forward here to a handler. `fetch` runs a statement,
    `find_holder` returns the process that has a chat, `wake` tells a process that a request waits for it."""

    def __init__(
        self,
        fetch: Fetch,
        peer_id: str,
        *,
        find_holder: Callable[[str], Awaitable[str | None]],
        wake: Callable[[str], Awaitable[None]],
    ) -> None:
        self._fetch = fetch
        self._id = peer_id
        self._find_holder = find_holder
        self._wake = wake
        self.came = asyncio.Event()
        """Set when a request may have come for this process."""

    # --- the process that a person asked

    async def forward(self, request: ForwardedRequest) -> ForwardedAnswer | None:
        """Returns what the process that has the chat answered; None if nobody took the request: nothing was done.

        Raises: ChatHeld if it was taken and not answered in time: then it may have been done. StorageFault.
        """
        holder = await self._find_holder(request.chat_id)
        if holder is None:
            return None
        await self._fetch(f"DELETE FROM forwarded_requests WHERE created_at < now() - INTERVAL '{_OLD}'")
        request_id, principal = secrets.token_hex(16), msgspec.json.encode(request.principal).decode()
        target = (request.method, request.path, request.query)
        await self._fetch(_PUT, request_id, holder, request.chat_id, principal, *target, request.body)
        await self._wake(holder)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._answer(request_id, request.chat_id, holder)
        except TimeoutError:
            if await self._withdraw(request_id):
                return None
            raise ChatHeld(
                "The server or worker that has this chat took the request and has not answered. Look at the chat before you repeat it."
            ) from None

    async def _answer(self, request_id: str, chat_id: str, holder: str) -> ForwardedAnswer | None:
        ask = "SELECT taken_by, status, answer FROM forwarded_requests WHERE id = $1"
        while True:
            await asyncio.sleep(POLL_SECONDS)
            taken_by, status, answer = (await self._fetch(ask, request_id))[0]
            if status is not None:
                await self._fetch("DELETE FROM forwarded_requests WHERE id = $1", request_id)
                return ForwardedAnswer(status, answer)
            if taken_by is None and await self._find_holder(chat_id) != holder and await self._withdraw(request_id):
                return None

    async def _withdraw(self, request_id: str) -> bool:
        """Returns False if it was taken."""
        statement = "DELETE FROM forwarded_requests WHERE id = $1 AND taken_by IS NULL RETURNING id"
        return bool(await self._fetch(statement, request_id))

    # --- the process that has the chat

    async def answer_all(self, handle: Handler, tasks: asyncio.TaskGroup) -> None:
        """Takes the requests for this process. `tasks` answers them: those of one chat in the order in which they came. Raises: StorageFault."""
        claimed = await self._fetch(_TAKE, self._id)
        by_chat: dict[str, list[Sequence[Any]]] = {}
        for row in sorted(claimed, key=lambda row: row[7]):
            by_chat.setdefault(row[1], []).append(row)
        for rows in by_chat.values():
            tasks.create_task(self._answer_in_order(rows, handle))

    async def _answer_in_order(self, rows: Sequence[Sequence[Any]], handle: Handler) -> None:
        for request_id, *fields in rows:
            answer = await self._handled(fields, handle)
            done = "UPDATE forwarded_requests SET status = $2, answer = $3 WHERE id = $1"
            try:
                await self._fetch(done, request_id, answer.status, answer.body)
            except StorageFault as error:
                log.warning("a forwarded request was handled, and its answer is lost: %s", error.message)

    async def _handled(self, row: Sequence[Any], handle: Handler) -> ForwardedAnswer:
        try:
            return await handle(_request(row))
        except Exception:  # whatever the row holds, the one who waits is answered, and this process goes on
            log.exception("a forwarded request failed")
            return _FAILED


_FAILED = ForwardedAnswer(
    500,
    b'{"error": {"code": "internal_error", "message": "The process that has this chat could not handle the request; see its log.",'
    b' "param": null, "type": "server_error"}}',
)


def _request(row: Sequence[Any]) -> ForwardedRequest:
    chat_id, principal, method, path, query, body, _ = row
    by = msgspec.json.decode(principal, type=Principal)  # without an access it may only read
    return ForwardedRequest(chat_id, by, method, path, query, body)
