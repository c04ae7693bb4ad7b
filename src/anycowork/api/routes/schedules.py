"""Schedules: templates and workflows that are started at their times, each as an ordinary job or run in an ordinary chat."""

from collections.abc import Sequence
from typing import Annotated, Any  # the changed fields

from fastapi import Response
from pydantic import Field

from anycowork.api.middleware.auth import Decider, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.schedules import ScheduleList, ScheduleResponse, StartedResponse
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget
from anycowork.domain.principals import Principal
from anycowork.domain.schedules import MissedRule, Schedule, ScheduledStart
from anycowork.domain.values import replace
from anycowork.server.services import Services

routes = Router(tags=["schedules"])

Name = Annotated[str, Field(min_length=1, max_length=120, examples=["Morning report"])]
Definition = Annotated[str, Field(min_length=1, max_length=80)]
Cron = Annotated[
    str,
    Field(min_length=1, max_length=200, description="Minute, hour, day, month, weekday.", examples=["0 9 * * MON-FRI"]),
]
At = Annotated[str, Field(min_length=1, max_length=40, description="Once. Without an offset: of the time zone.")]
Zone = Annotated[str, Field(min_length=1, max_length=64, examples=["Europe/Berlin"])]
ChatId = Annotated[str, Field(min_length=1, max_length=64, description="Its runs go into this chat.")]
Folder = Annotated[str, Field(min_length=1, max_length=4096, description="Each run gets a new chat in this folder.")]
Missed = Annotated[MissedRule, Field(strict=False, description="What is done about times at which no server ran.")]


class RunLimits(Boundary):
    """What one run may use."""

    seconds: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None
    tokens: Annotated[int, Field(gt=0, le=10**12)] | None = None
    cost: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None

    def budget(self) -> Budget:
        return Budget(seconds=self.seconds, tokens=self.tokens, cost=self.cost)


class StartableRequest(Boundary):
    """What is started: exactly one of `template` and `workflow`, in the chat `context_id` or in new chats in `workspace`."""

    name: Name
    template: Definition | None = None
    workflow: Definition | None = None
    parameters: Json = Field(default_factory=dict)
    context_id: ChatId | None = None
    workspace: Folder | None = None
    role: Definition | None = None
    limits: RunLimits = RunLimits()
    enabled: bool = True

    def draft(self) -> Schedule:
        return Schedule(
            id="",
            name=self.name,
            cron=None,
            at=None,
            time_zone="UTC",
            template=self.template,
            workflow=self.workflow,
            parameters=self.parameters,
            chat_id=self.context_id,
            workspace=self.workspace,
            role=self.role,
            limits=self.limits.budget(),
            missed=MissedRule.ONCE,
            enabled=self.enabled,
        )


class Timing(Boundary):
    cron: Cron | None = None
    once_at: Annotated[At | None, Field(alias="at")] = None


class NewSchedule(StartableRequest, Timing):
    """Exactly one of `cron` and `at`."""

    time_zone: Zone = "UTC"
    missed: Missed = MissedRule.ONCE


class StartableChanges(Boundary):
    """What is not named stays."""

    name: Name | None = None
    template: Definition | None = None
    workflow: Definition | None = None
    parameters: Json | None = None
    context_id: ChatId | None = None
    workspace: Folder | None = None
    role: Definition | None = None
    limits: RunLimits | None = None
    enabled: bool | None = None


class ScheduleChanges(StartableChanges, Timing):
    time_zone: Zone | None = None
    missed: Missed | None = None


@routes.get("/schedules", response_model=ScheduleList, responses=error_responses())
async def list_schedules(principal: Reader, services: ServicesDep) -> Response:
    """Oldest first, each with its newest start."""
    return json_response(200, {"schedules": await all_shown(services, principal, triggers=False)})


@routes.get("/schedules/{schedule_id}", response_model=ScheduleResponse, responses=error_responses(404, 422))
async def show_schedule(schedule_id: str, principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, await shown(services, principal, schedule_id, trigger=False))


@routes.post("/schedules", status_code=201, response_model=ScheduleResponse, responses=error_responses(body=True))
async def create_schedule(body: NewSchedule, principal: Decider, services: ServicesDep) -> Response:
    """Its runs are of who creates or changes it, with the access that they have then."""
    draft = replace(body.draft(), cron=body.cron, at=body.once_at, time_zone=body.time_zone, missed=body.missed)
    schedule = await services.schedules.create(principal, draft)
    return json_response(201, {**schedule.to_json(), "starts": []})


@routes.patch("/schedules/{schedule_id}", response_model=ScheduleResponse, responses=error_responses(404, body=True))
async def change_schedule(
    schedule_id: str, body: ScheduleChanges, principal: Decider, services: ServicesDep
) -> Response:
    schedule = await services.schedules.change(principal, schedule_id, changes_in(body), trigger=False)
    return json_response(200, await shown(services, principal, schedule.id, trigger=False))


@routes.delete(
    "/schedules/{schedule_id}", status_code=204, response_class=Response, responses=error_responses(404, 422, 507)
)
async def delete_schedule(schedule_id: str, principal: Decider, services: ServicesDep) -> Response:
    """What it has started stays, and goes on."""
    await services.schedules.remove(principal, schedule_id, trigger=False)
    return Response(status_code=204)


@routes.post(
    "/schedules/{schedule_id}/run",
    status_code=202,
    response_model=StartedResponse,
    responses=error_responses(404, 409, 422, 429),
)
async def run_schedule(schedule_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Starts it now, in the name of who asks, also if it is disabled."""
    start = await services.schedules.run(principal, schedule_id)
    return json_response(202, {"start": start.to_json()})


async def all_shown(services: Services, principal: Principal, *, triggers: bool) -> list[Json]:
    """Returns those that are not hidden from who asks, oldest first."""
    listed = await services.visibility.visible_only(
        principal,
        await services.schedules.all(triggers=triggers),
        lambda entry: entry[0].chat_id,
        lambda entry: entry[0].workspace,
    )
    return await _with_visible_starts(services, principal, listed)


async def shown(services: Services, principal: Principal, schedule_id: str, *, trigger: bool) -> Json:
    """Raises: NotFound."""
    entry = await services.schedules.show(schedule_id, trigger=trigger)
    return (await _with_visible_starts(services, principal, [entry]))[0]


async def _with_visible_starts(
    services: Services, principal: Principal, entries: Sequence[tuple[Schedule, Sequence[ScheduledStart]]]
) -> list[Json]:
    """A run in a hidden chat is listed without the ids of its chat, turn and job: the chat is of who had it started."""
    starts = [start for _, starts in entries for start in starts]
    visible = {*await services.visibility.visible_only(principal, starts, lambda start: start.chat_id)}
    return [
        {
            **schedule.to_json(),
            "starts": [(start if start in visible else _of_hidden(start)).to_json() for start in of_it],
        }
        for schedule, of_it in entries
    ]


def _of_hidden(start: ScheduledStart) -> ScheduledStart:
    return replace(start, chat_id=None, turn_id=None, job_id=None, error=None)


def changes_in(body: StartableChanges) -> dict[str, Any]:
    """Returns the named fields, as a schedule has them. Raises: Invalid for a null where there must be a value."""
    changes: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    for name in changes:
        if changes[name] is None and name not in _NULLABLE:
            raise Invalid(f"'{name}' must have a value. Leave it out to keep what it is.", param=name)
    if "limits" in changes:
        changes["limits"] = changes["limits"].budget()
    return {_FIELDS.get(name, name): value for name, value in changes.items()}


_FIELDS = {"context_id": "chat_id", "once_at": "at"}
_NULLABLE = frozenset({"cron", "once_at", "template", "workflow", "context_id", "workspace", "role"})
