"""Limits of people and groups for a day: dollars, tokens, and jobs at the same time."""

from typing import Annotated

from fastapi import Response
from pydantic import ConfigDict, Field

from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.limits import AllLimitsResponse
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.limits import EACH, DayLimits, LimitKind

routes = Router(tags=["limits"])
_AMOUNTS = frozenset({"usd_per_day", "tokens_per_day", "jobs"})


class DayLimitsRequest(Boundary):
    """What is not named, or null, is not limited."""

    usd_per_day: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)] | None = None
    tokens_per_day: Annotated[int, Field(ge=0, le=10**12)] | None = None
    jobs: Annotated[int, Field(ge=0, le=10_000)] | None = None

    def read(self) -> DayLimits:
        return DayLimits(self.usd_per_day, self.tokens_per_day, self.jobs)


class LimitsByNameRequest(DayLimitsRequest):
    """The limits of each, and below a name those of one. null: that one has none of its own again."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, DayLimitsRequest | None]

    def by_name(self) -> dict[str, DayLimits | None]:
        by_key = {name: limits.read() if limits else None for name, limits in (self.model_extra or {}).items()}
        return by_key if by_key and not self.model_fields_set & _AMOUNTS else {**by_key, EACH: self.read()}


Named = LimitsByNameRequest | Annotated[str, Field(min_length=1, max_length=240, description="One, by name or id.")]


class AllLimitsRequest(DayLimitsRequest):
    """`{"person": {"tokens_per_day": 100000}}` limits each person, `{"person": {"Ada": {"usd_per_day": 2}}}` one of them."""

    person: Named | None = None
    group: Named | None = None

    def by_kind(self) -> dict[LimitKind, dict[str, DayLimits | None]]:
        """Raises: Invalid."""
        kinds = ((LimitKind.PERSON, self.person), (LimitKind.GROUP, self.group))
        by_key = {kind: limits for kind, limits in kinds if limits is not None}
        if not by_key:
            raise Invalid("Name whose limits these are: 'person' or 'group'.", param="person")
        if self.model_fields_set & _AMOUNTS and not any(isinstance(limits, str) for limits in by_key.values()):
            raise Invalid("Amounts stand inside 'person' or 'group', or beside the name of one.", param="person")
        return {
            kind: {limits: self.read()} if isinstance(limits, str) else limits.by_name()
            for kind, limits in by_key.items()
        }


@routes.get("/limits", response_model=AllLimitsResponse, responses=error_responses())
async def show_limits(principal: Reader, services: ServicesDep) -> Response:
    """Your limits and what you used today; an admin sees everyone's."""
    return json_response(200, await services.limits.show(principal))


@routes.put("/limits", response_model=AllLimitsResponse, responses=error_responses(404, body=True))
async def put_limits(body: AllLimitsRequest, principal: Manager, services: ServicesDep) -> Response:
    """Replaces the limits of those who are named; they hold from the next request on. The change stands in the audit chain."""
    return json_response(200, await services.limits.put(principal, body.by_kind()))
