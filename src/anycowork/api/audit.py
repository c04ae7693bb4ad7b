"""What was done: plan against actual, and the audit log, a hash chain as lines of JSON that can be verified anywhere."""

from collections.abc import AsyncIterator

import msgspec
from fastapi import Response
from fastapi.responses import StreamingResponse

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader
from anycowork.api.rooms import House, Rooms
from anycowork.api.routes import Routes
from anycowork.api.shapes.base import Described
from anycowork.domain.audit import ChainEnd, Link
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json

routes = Routes(tags=["audit"])

_PAGE = 200
_EXAMPLE = '{"seq": 1, "hash": "…", "record": "{…}"}\n{"chat_id": "…", "end": "…", "records": 1}\n'


class DoneShape(Described):
    """One call as it was carried out. `allowed_by` is `approval:<id>`, `plan:<step>`, `rule:<id>` or `default`; null if it needed no word."""

    call_id: str
    tool: str
    resource: str
    status: str
    error: str | None
    paths: list[str]
    exit_code: int | None
    allowed_by: str | None
    at: str
    seconds: float | None


class CheckShape(Described):
    command: str
    ran: bool
    ok: bool | None = None
    exit_code: int | None = None
    call_id: str | None = None


class StepAuditShape(Described):
    """`status`: pending, running, completed, failed, interrupted, skipped, or claimed where nothing could be held against the step.
    `untouched` are the files it names that no call touched."""

    id: str
    intended: Json
    done: list[DoneShape]
    status: str
    check: CheckShape | None
    untouched: list[str]
    seconds: float


class BudgetShape(Described):
    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None


class SpentShape(Described):
    """`calls` are changes and commands that the plan names; `cost` in US dollars, null where a model has no price."""

    calls: int
    seconds: float
    tokens: int
    cost: float | None


class ComparedPlanShape(Described):
    """`unplanned` changed something for no step; `also_read` counts what was only read for none. `budget` is what was approved."""

    message_id: str
    goal: str
    approved_by: str | None
    turn_id: str
    state: str
    seconds: float
    budget: BudgetShape | None
    spent: SpentShape
    steps: list[StepAuditShape]
    unplanned: list[DoneShape]
    also_read: int


class PlanAuditShape(Described):
    plans: list[ComparedPlanShape]


@routes.get("/context/{chat_id}/audit", response_model=PlanAuditShape, responses=faults(404, 422))
async def plan_against_actual(chat_id: str, principal: Reader, rooms: House) -> Response:
    """Each approved plan, oldest first: what every step meant beside what was done for it, and what was done outside the plan."""
    return answer(200, {"plans": await rooms.plan_audit.of_chat(chat_id)})


@routes.get(
    "/context/{chat_id}/audit/log",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One line per record, then the end.",
            "content": {"application/x-ndjson": {"example": _EXAMPLE}},
        },
        **faults(404, 422),
    },
)
async def audit_log(chat_id: str, principal: Reader, rooms: House) -> StreamingResponse:
    """`hash` is SHA-256 over the previous line's hash (empty at first) and `record` as UTF-8; the last line holds the chain's end."""
    end = await rooms.store.chain_end(chat_id)
    if end is None:
        raise NotFound("chat", chat_id)
    return StreamingResponse(_lines(rooms, chat_id, end), media_type="application/x-ndjson")


async def _lines(rooms: Rooms, chat_id: str, end: ChainEnd) -> AsyncIterator[bytes]:
    seq, count = 0, 0
    while page := await rooms.store.chained_after(chat_id, seq, up_to=end.seq, limit=_PAGE):
        yield b"".join(_line(link) for link in page)
        seq, count = page[-1].seq, count + len(page)
    yield msgspec.json.encode({"chat_id": chat_id, "end": end.hash, "records": count}) + b"\n"


def _line(link: Link) -> bytes:
    record = link.body.decode("utf-8", "replace")  # what is no text was tampered with, and will not verify
    return msgspec.json.encode({"seq": link.seq, "hash": link.hash, "record": record}) + b"\n"
