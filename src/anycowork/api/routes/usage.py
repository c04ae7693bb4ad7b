"""What chats, jobs and roles have used of their models, and what that cost where the price is known."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from typing import Annotated

from fastapi import Query, Response

from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.models import ChatUsageResponse, UsageReportResponse
from anycowork.domain.chats import Chat
from anycowork.domain.limits import UsedModel
from anycowork.domain.messages import Json
from anycowork.domain.metering import ModelUsage, UsageGroup
from anycowork.domain.model import ContextSize
from anycowork.domain.provider_errors import NoSuchModel
from anycowork.domain.values import value
from anycowork.domain.visibility import viewer_of
from anycowork.permissions.budgets import CostOf
from anycowork.server.services import Services
from anycowork.turns.lookup import require_chat

routes = Router(tags=["usage"])
_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(9999, 12, 31)


@routes.get("/usage", response_model=UsageReportResponse, responses=error_responses(422))
async def usage(
    principal: Reader,
    services: ServicesDep,
    by: Annotated[UsageGroup, Query(description="What it is summed up by.")] = UsageGroup.MODEL,
    since: Annotated[date, Query(description="The first day (UTC) on which a turn began.")] = _FIRST_DAY,
    until: Annotated[date, Query(description="The last day.")] = _LAST_DAY,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """What chats and jobs used of their models, and what that cost. By person and by group it counts requests to `/v1`, too, for who made the
    key; an admin sees everyone, others themselves and their groups. Who is in several groups counts in each, and once in the total."""
    days = since.isoformat(), until.isoformat()
    cost_of = services.server.settings.cost
    if by in (UsageGroup.PERSON, UsageGroup.GROUP):
        used, names = await services.limits.used_between(principal, by, *days)
        entries = [_entry_of(row, names[row.payer], cost_of) for row in used]
    else:
        rows = await services.store.usage.grouped(by, *days, viewer=viewer_of(principal))
        entries = [UsageEntry((row.key,), row.used, cost_of(row.used)) for row in rows]
    return json_response(200, {"since": days[0], "until": days[1], **usage_report(by, entries, limit=limit)})


@routes.get("/context/{chat_id}/usage", response_model=ChatUsageResponse, responses=error_responses(404, 422))
async def chat_usage(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    chat = await require_chat(services.store, chat_id)
    usage = await services.store.usage.of_chat(chat_id)
    models = [{**asdict(used), "cost": services.server.settings.cost(used)} for used in usage.models]
    size = _context_size(services, chat)
    context = {"context_tokens": size.tokens if size else None, "context_known": size is not None and size.known}
    return json_response(200, {"models": models, "window": usage.window, **context})


def _context_size(services: Services, chat: Chat) -> ContextSize | None:
    try:
        return services.models.providers.context_size(chat.config.model_id)
    except NoSuchModel:
        return None


@value
class UsageEntry:
    """What was used of one model, and under which keys of a report it counts."""

    keys: tuple[str, ...]
    used: ModelUsage
    cost: float | None
    unpriced: int = 0


@dataclass(slots=True)
class UsageSum:
    requests: int = 0
    reserved: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False
    cost: float | None = None
    unpriced_requests: int = 0

    def add(self, entry: UsageEntry) -> None:
        for name in ("requests", "reserved", "prompt", "completion", "cached", "reasoning"):
            setattr(self, name, getattr(self, name) + getattr(entry.used, name))
        self.estimated = self.estimated or entry.used.estimated
        self.unpriced_requests += entry.used.requests if entry.cost is None else entry.unpriced
        if entry.cost is not None:
            self.cost = (self.cost or 0.0) + entry.cost

    def to_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__}


def usage_report(by: UsageGroup, entries: Iterable[UsageEntry], *, limit: int) -> Json:
    """Returns the groups with the most tokens, or the newest days, and the total of all. A price that nobody knows is no cost of 0:
    `cost` is null if none is known, and `unpriced_requests` counts what it leaves out."""
    groups: dict[str, UsageSum] = {}
    total = UsageSum()
    for entry in entries:
        for key in entry.keys:
            groups.setdefault(key, UsageSum()).add(entry)
        total.add(entry)
    if by is UsageGroup.DAY:
        ordered = sorted(groups.items(), reverse=True)
    else:
        ordered = sorted(groups.items(), key=lambda group: (-group[1].prompt - group[1].completion, group[0]))
    listed_rows: list[Json] = [{"key": key, **summed.to_json()} for key, summed in ordered[:limit]]
    return {"by": by.value, "rows": [*listed_rows], "groups": len(ordered), "total": total.to_json()}


def _entry_of(row: UsedModel, names: tuple[str, ...], cost_of: CostOf) -> UsageEntry:
    """Requests with keys are priced already."""
    if row.used.model:
        return UsageEntry(names, row.used, cost_of(row.used))
    only_unpriced = row.unpriced >= row.used.requests and not row.usd
    return UsageEntry(names, row.used, None if only_unpriced else row.usd, row.unpriced)
