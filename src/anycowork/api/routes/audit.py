"""Routes for the plan audit, and for the audit log: a hash chain as JSON lines that can be verified anywhere."""

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from anycowork.api.middleware.auth import Decider, Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.audit import AuditCheckProgress, AuditVerified, PlanAuditResponse
from anycowork.domain.audit import ChainEnd, ChainLink
from anycowork.domain.errors import NotAllowed, NotFound
from anycowork.domain.visibility import viewer_of
from anycowork.server.services import Services

routes = Router(tags=["audit"])

_PAGE = 200
_FULL = "Read every record, also those that an earlier check has read. Happens by itself up to 100,000 records, and every 7 days."
_EXAMPLE = '{"seq": 1, "hash": "…", "record": "{…}"}\n{"chat_id": "…", "end": "…", "records": 1, "heads": {"count": 7, "head": "…"}}\n'


@routes.get("/context/{chat_id}/audit", response_model=PlanAuditResponse, responses=error_responses(404, 422))
async def plan_against_actual(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    """Each approved plan, oldest first: what every step meant beside what was done for it, and what was done outside the plan."""
    return json_response(200, {"plans": await services.plan_audit.of_chat(chat_id)})


@routes.get(
    "/context/{chat_id}/audit/log",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One line per record, then the end.",
            "content": {"application/x-ndjson": {"example": _EXAMPLE}},
        },
        **error_responses(404, 422),
    },
)
async def audit_log(chat_id: str, principal: Decider, services: ServicesDep) -> StreamingResponse:
    """`hash` is SHA-256 over the previous line's hash (empty at first) and `record` as UTF-8; the last line holds the chain's end.

    Nothing can be left out of it, so it is only for people who may decide.
    `heads` is the newest of the heads of all chats: kept elsewhere, this log proves later that none of them was cut or removed.
    """
    end = await services.store.audit.end_of(chat_id)
    if end is None:
        raise NotFound("chat", chat_id)
    return StreamingResponse(_lines(services, chat_id, end), media_type="application/x-ndjson")


@routes.post("/audit/verify", response_model=AuditVerified, responses=error_responses(body=True))
async def verify_audit(
    principal: Manager, services: ServicesDep, full: Annotated[bool, Query(description=_FULL)] = False
) -> Response:
    """Checks every chat, as `anycowork audit verify` does: for a person who wants to know, not for a probe."""
    return json_response(200, await services.server.audit.verify(full=full))


@routes.get("/audit/verify", response_model=AuditCheckProgress, responses=error_responses(422))
async def audit_check_progress(principal: Reader, services: ServicesDep) -> Response:
    """How far the running check is; `running` is false if there is none."""
    return json_response(200, services.server.audit.progress())


@routes.delete("/audit/verify", status_code=204, response_class=Response, responses=error_responses(422))
async def stop_audit_check(principal: Manager, services: ServicesDep) -> Response:
    """Stops the running check, if there is one. Its answer says that it was stopped."""
    services.server.audit.stop()
    return Response(status_code=204)


@routes.get(
    "/audit/export",
    response_class=StreamingResponse,
    responses={200: {"description": "A zip file.", "content": {"application/zip": {}}}, **error_responses()},
)
async def export_audit_file(principal: Manager, services: ServicesDep) -> StreamingResponse:
    """One file for auditors: all chains with their heads, people, decisions and the receipts of checks, as JSON lines in a zip file.

    It is sent while it is read, from one moment of the database, with secrets hidden. `anycowork audit verify` verifies it offline.
    """
    viewer = viewer_of(principal)
    if viewer is not None and await services.store.visibility.hides_any_chat(viewer):
        raise NotAllowed(
            "This file holds every chat, and some are hidden from you. Who has the server's token can write it: 'anycowork audit export'."
        )
    headers = {"content-disposition": 'attachment; filename="audit.zip"'}
    return StreamingResponse(services.server.audit.export(), media_type="application/zip", headers=headers)


async def _lines(services: Services, chat_id: str, end: ChainEnd) -> AsyncIterator[bytes]:
    seq, count = 0, 0
    while page := await services.store.audit.links_after(chat_id, seq, up_to=end.seq, limit=_PAGE):
        yield b"".join(_line(link) for link in page)
        seq, count = page[-1].seq, count + len(page)
    newest = services.store.audit_heads.newest
    heads = {"count": newest.count, "head": newest.head} if newest is not None else None
    yield msgspec.json.encode({"chat_id": chat_id, "end": end.hash, "records": count, "heads": heads}) + b"\n"


def _line(link: ChainLink) -> bytes:
    record = link.body.decode("utf-8", "replace")  # what is no text was tampered with, and will not verify
    return msgspec.json.encode({"seq": link.seq, "hash": link.hash, "record": record}) + b"\n"
