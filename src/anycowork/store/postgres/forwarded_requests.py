"""Passes requests to the worker that has their chat, and answers back, through a table. Each is taken once."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any  # rows have no types

import msgspec

from anycowork.domain.errors import ChatHeld
from anycowork.domain.forwarded_requests import ForwardedAnswer, ForwardedRequest
from anycowork.domain.principals import Principal
from anycowork.store.postgres.peer_table import Fetch

ANSWER_SECONDS = 20.0
POLL_SECONDS = 0.1
_OLD = "10 minutes"  # nobody waits so long for an answer
_PUT = "INSERT INTO forwarded_requests (id, chat_id, principal, method, path, query, body) VALUES ($1, $2, $3, $4, $5, $6, $7)"
_TAKE = """
UPDATE forwarded_requests SET taken_by = $1 WHERE taken_by IS NULL AND chat_id = ANY ($2::text[])
RETURNING id, chat_id, principal, method, path, query, body, created_at
"""
log = logging.getLogger(__name__)
Handler = Callable[[ForwardedRequest], Awaitable[ForwardedAnswer]]


class ForwardedRequests:
    """Implements `RequestForwarder` for a server, and hands requests to a worker's handler. `fetch` runs a statement."""

    def __init__(self, fetch: Fetch, peer_id: str, *, held_by_worker: Callable[[str], Awaitable[bool]]) -> None:
        self._fetch = fetch
        self._id = peer_id
        self._held_by_worker = held_by_worker

    # --- a server

    async def forward(self, request: ForwardedRequest) -> ForwardedAnswer | None:
        await self._fetch(f"DELETE FROM forwarded_requests WHERE created_at < now() - INTERVAL '{_OLD}'")
        request_id, principal = secrets.token_hex(16), msgspec.json.encode(request.principal).decode()
        place = (request.method, request.path, request.query)
        await self._fetch(_PUT, request_id, request.chat_id, principal, *place, request.body)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._answer(request_id, request.chat_id)
        except TimeoutError:
            if await self._withdraw(request_id):
                return None
            raise ChatHeld(
                "The worker in this chat took the request and has not answered. Look at the chat before you repeat it."
            ) from None

    async def _answer(self, request_id: str, chat_id: str) -> ForwardedAnswer | None:
        ask = "SELECT taken_by, status, answer FROM forwarded_requests WHERE id = $1"
        while True:
            await asyncio.sleep(POLL_SECONDS)
            taken_by, status, answer = (await self._fetch(ask, request_id))[0]
            if status is not None:
                await self._fetch("DELETE FROM forwarded_requests WHERE id = $1", request_id)
                return ForwardedAnswer(status, answer)
            if taken_by is None and not await self._held_by_worker(chat_id) and await self._withdraw(request_id):
                return None

    async def _withdraw(self, request_id: str) -> bool:
        """Returns False if it was taken."""
        statement = "DELETE FROM forwarded_requests WHERE id = $1 AND taken_by IS NULL RETURNING id"
        return bool(await self._fetch(statement, request_id))

    # --- a worker

    async def answer_all(self, chat_ids: Collection[str], handle: Handler) -> None:
        """Answers the requests about these chats, in the order in which they came."""
        if not chat_ids:
            return
        taken = await self._fetch(_TAKE, self._id, list(chat_ids))
        for request_id, *rest in sorted(taken, key=lambda row: row[7]):
            answer = await self._handled(rest, handle)
            done = "UPDATE forwarded_requests SET status = $2, answer = $3 WHERE id = $1"
            await self._fetch(done, request_id, answer.status, answer.body)

    async def _handled(self, row: Sequence[Any], handle: Handler) -> ForwardedAnswer:
        try:
            return await handle(_request(row))
        except Exception:  # whatever the row holds, the one who waits is answered, and the worker goes on
            log.exception("a forwarded request failed")
            return _FAILED


_FAILED = ForwardedAnswer(
    500,
    b'{"error": {"code": "internal_error", "message": "The worker could not handle the request; see its log.", "param": null,'
    b' "type": "server_error"}}',
)


def _request(row: Sequence[Any]) -> ForwardedRequest:
    chat_id, principal, method, path, query, body, _ = row
    by = msgspec.json.decode(principal, type=Principal)  # without an access it may only read
    return ForwardedRequest(chat_id, by, method, path, query, body)
