"""Client keys: for programs that use the passthrough. A key is shown once, when it is made; only its hash is kept."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import Field

from anycowork.api.middleware.auth import Manager, key_hash, maker_in, new_client_key
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.people import KeyList, NewKey
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import NotFound
from anycowork.domain.limits import payer_of
from anycowork.domain.messages import Json
from anycowork.domain.metering import NANOS, DailyUsage, KeyLimits
from anycowork.domain.principals import NodeKind, Principal, PrincipalKind

routes = Router(tags=["keys"])


class KeyLimitsRequest(Boundary):
    """What is not named is not limited."""

    requests_per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = None
    tokens_per_day: Annotated[int, Field(ge=1, le=10**12)] | None = None
    spend_per_day: (
        Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False, description="US dollars.")] | None
    ) = None

    def read(self) -> KeyLimits:
        spend = None if self.spend_per_day is None else max(1, round(self.spend_per_day * NANOS))
        return KeyLimits(self.requests_per_minute, self.tokens_per_day, spend)


class NewKeyRequest(Boundary):
    name: Annotated[str, Field(min_length=1, max_length=100, examples=["editor"])]
    limits: KeyLimitsRequest | None = None


@routes.get("/keys", response_model=KeyList, responses=error_responses())
async def list_keys(principal: Manager, services: ServicesDep) -> Response:
    """With what each has used: today, and in all."""
    totals, today = await services.access.ledger.totals(), services.clock.now()[:10]
    holders = [holder for holder in await services.access.keys.all() if holder.revoked_at is None]
    priced = services.models.upstreams.any_prices()
    listed = [
        _shown(
            holder.principal,
            holder.created_at,
            holder.limits,
            today=await services.access.ledger.day(holder.principal.id, today),
            total=totals.get(holder.principal.id, DailyUsage(holder.principal.id, "")),
            priced=priced,
        )
        for holder in holders
    ]
    return json_response(200, {"keys": listed})


@routes.post("/keys", status_code=201, response_model=NewKey, responses=error_responses(body=True))
async def make_key(body: NewKeyRequest, principal: Manager, request: Request, services: ServicesDep) -> Response:
    key = new_client_key()
    holder = Principal(id=services.clock.new_id(), kind=PrincipalKind.CLIENT_KEY, name=body.name)
    limits, unused = body.limits.read() if body.limits else KeyLimits(), DailyUsage(holder.id, "")
    created_at = await services.access.keys.add(
        holder, key_hash=key_hash(key), limits=limits, payer=payer_of(principal.label())
    )
    sessions = services.access.sessions
    await sessions.record_made(NodeKind.KEY, holder.id, maker_in(request.scope, sessions))
    description = _shown(
        holder, created_at, limits, today=unused, total=unused, priced=services.models.upstreams.any_prices()
    )
    return json_response(201, {**description, "key": key})


@routes.delete("/keys/{key_id}", status_code=204, response_class=Response, responses=error_responses(404, 422, 507))
async def revoke_key(key_id: str, principal: Manager, services: ServicesDep) -> Response:
    if not await services.access.keys.revoke(key_id):
        raise NotFound("key", key_id)
    return Response(status_code=204)


def _shown(
    holder: Principal, created_at: str, limits: KeyLimits, *, today: DailyUsage, total: DailyUsage, priced: bool
) -> Json:
    return {
        "id": holder.id,
        "name": holder.name,
        "created_at": created_at,
        "limits": {
            "requests_per_minute": limits.requests_per_minute,
            "tokens_per_day": limits.tokens_per_day,
            "spend_per_day": None if limits.spend_per_day is None else limits.spend_per_day / NANOS,
        },
        "today": _usage(today),
        "total": _usage(total),
        "last_used_at": total.last_used_at,
        "hint": _hint(limits, today, priced=priced),
    }


def _usage(day: DailyUsage) -> Json:
    return {
        "requests": day.requests,
        "prompt_tokens": day.prompt,
        "completion_tokens": day.completion,
        "cached_tokens": day.cached,
        "reasoning_tokens": day.reasoning,
        "spend": day.spend / NANOS,
        "estimated": round(day.estimated / day.tokens, 4) if day.tokens else 0.0,
        "unpriced_requests": day.unpriced,
    }


def _hint(limits: KeyLimits, today: DailyUsage, *, priced: bool) -> str | None:
    if limits.spend_per_day is None or (priced and not today.unpriced):
        return None
    return (
        "A limit in dollars holds only where prices are known; other requests are counted in tokens alone. Set the prices in the "
        "settings of the model, or limit the tokens per day."
    )
