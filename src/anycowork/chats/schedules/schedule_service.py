"""Schedules and triggers as people keep them: created, changed, run now and removed. `schedule_runner.py` starts what is due.

A trigger is a schedule without times, which a signed request starts. Each delivery starts once.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any  # the changed fields of a schedule

import msgspec
from pydantic import JsonValue

from anycowork.chats.schedules.schedule_runner import ScheduleRunner
from anycowork.domain.bounded_json import MAX_VALUES, read_json
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.messages import Json
from anycowork.domain.notifications import new_secret
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.roles import RoleDefinition
from anycowork.domain.schedules import Schedule, ScheduledStart, StartReason, first_time
from anycowork.domain.triggers import (
    MOST_A_MINUTE,
    MOST_WAITING,
    NOT_SIGNED,
    Delivery,
    NotSigned,
    brought_parameters,
    is_signed,
    require_pointers,
)
from anycowork.domain.values import replace
from anycowork.domain.workflows import JobTemplate, NoSuchJobTemplate, NoSuchWorkflow, UnfittingParameters, Workflow
from anycowork.permissions.roles import RoleRegistry
from anycowork.store.sql.schedules import Schedules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.workflows.job_templates import JobTemplateService
from anycowork.workflows.workflow_service import WorkflowService

LAST_STARTS = 20
_MOST_BYTES = 65_536  # of the parameters
_ALTERNATIVES = (("cron", "at"), ("template", "workflow"), ("chat_id", "workspace"))
_TIMES = frozenset({"cron", "at", "time_zone"})
_HARMLESS = frozenset({"name", "missed", "enabled"})
log = logging.getLogger(__name__)
_SECRET_BYTES = 32


class ScheduleService:
    """Its runs are of who changed it last, with the access that they have then."""

    def __init__(
        self,
        *,
        schedules: Schedules,
        runner: ScheduleRunner,
        roles: RoleRegistry,
        workflows: WorkflowService,
        templates: JobTemplateService,
        store: Store,
        find_workspace: Callable[[str | None], Awaitable[str]],
        clock: Clock,
    ) -> None:
        self._schedules, self.runner, self._clock = schedules, runner, clock
        self._roles, self._workflows, self._templates = roles, workflows, templates
        self._store, self._find_workspace = store, find_workspace

    async def all(self, *, triggers: bool) -> list[tuple[Schedule, list[ScheduledStart]]]:
        """Returns them, oldest first, each with its newest start."""
        listed = [schedule for schedule in await self._schedules.all() if schedule.is_trigger is triggers]
        return [(schedule, await self._schedules.starts(schedule.id, 1)) for schedule in listed]

    async def show(self, schedule_id: str, *, trigger: bool) -> tuple[Schedule, list[ScheduledStart]]:
        """Returns it with its newest starts. Raises: NotFound."""
        schedule = await self.require(schedule_id, trigger=trigger)
        return schedule, await self._schedules.starts(schedule.id, LAST_STARTS)

    async def require(self, schedule_id: str, *, trigger: bool) -> Schedule:
        """Raises: NotFound."""
        schedule = await self._schedules.find(schedule_id)
        if schedule is None or schedule.is_trigger is not trigger:
            raise NotFound("trigger" if trigger else "schedule", schedule_id[:80])
        return schedule

    async def create(self, principal: Principal, draft: Schedule, *, secret: str | None = None) -> Schedule:
        """Raises: Invalid, UnfittingParameters, Forbidden, Conflict."""
        principal.require(Scope.DECIDE)
        now, by = self._clock.now(), principal.label()
        schedule = replace(draft, id=self._clock.new_id(), principal=by, created_by=by, created_at=now, changed_at=now)
        schedule = await self._with_times(await self._checked(schedule))
        await self._schedules.add(schedule, secret=secret)
        log.info("%s created the schedule %s", by, schedule.id)
        self.runner.wake()
        return schedule

    async def change(
        self, principal: Principal, schedule_id: str, changes: Mapping[str, Any], *, trigger: bool
    ) -> Schedule:
        """What is not named stays; the one of two alternatives replaces the other. Raises: as `create`, NotFound."""
        principal.require(Scope.DECIDE)
        before = await self.require(schedule_id, trigger=trigger)
        replaced = {
            other: None
            for pair in _ALTERNATIVES
            for name, other in (pair, pair[::-1])
            if changes.get(name) is not None and other not in changes
        }
        schedule = replace(
            before, **{**replaced, **changes}, principal=principal.label(), changed_at=self._clock.now(), paused=None
        )
        is_enabled_again = schedule.enabled and not before.enabled
        if is_enabled_again or not changes.keys() <= _HARMLESS:
            schedule = await self._checked(schedule)
        if is_enabled_again or not _TIMES.isdisjoint(changes):
            schedule = await self._with_times(schedule)
        await self._schedules.put(schedule)
        log.info("%s changed the schedule %s: %s", principal.label(), schedule.id, ", ".join(sorted(changes)))
        self.runner.wake()
        return schedule

    async def remove(self, principal: Principal, schedule_id: str, *, trigger: bool) -> None:
        """What it has started goes on. Raises: NotFound."""
        principal.require(Scope.DECIDE)
        await self.require(schedule_id, trigger=trigger)
        await self._schedules.remove(schedule_id)
        log.info("%s removed the schedule %s", principal.label(), schedule_id)

    async def run(self, principal: Principal, schedule_id: str) -> ScheduledStart:
        """Starts it now, in the name of who asks. Raises: NotFound, Conflict; as what it starts."""
        principal.require(Scope.DECIDE)
        schedule = await self.require(schedule_id, trigger=False)
        log.info("%s runs the schedule %s", principal.label(), schedule.id)
        return await self.runner.start_now(principal, schedule, f"run:{self._clock.new_id()}")

    # --- the parts

    async def _with_times(self, schedule: Schedule) -> Schedule:
        if schedule.is_trigger:
            return schedule
        if (schedule.cron is None) == (schedule.at is None):
            raise Invalid("Send exactly one of 'cron' and 'at'.", param="cron")
        return replace(schedule, next_at=await asyncio.to_thread(first_time, schedule, self._clock.now()))

    async def _checked(self, schedule: Schedule) -> Schedule:
        """Returns it with its folder, if it could be started like that. Raises: Invalid, UnfittingParameters, Forbidden, NotTrusted."""
        if not schedule.name.strip():
            raise Invalid("A schedule needs a name.", param="name")
        if len(msgspec.json.encode(schedule.parameters)) > _MOST_BYTES:
            raise Invalid(f"The parameters are longer than {_MOST_BYTES} bytes.", param="parameters")
        if (schedule.template is None) == (schedule.workflow is None):
            raise Invalid("Send exactly one of 'template' and 'workflow'.", param="template")
        if schedule.chat_id is not None and schedule.workspace is not None:
            raise Invalid("Send 'context_id' or 'workspace', not both.", param="context_id")
        require_pointers(schedule.payload, schedule.parameters)
        folder, role = await self._place_of(schedule)
        try:
            await self._require_fitting(schedule, schedule.parameters, folder, role)
        except (NoSuchWorkflow, NoSuchJobTemplate) as fault:
            param = "template" if schedule.workflow is None else "workflow"
            raise Invalid(fault.message, param=param) from fault
        except UnfittingParameters as fault:
            _require_only(schedule, fault)
        await self._require_known(schedule, folder)
        with_role = replace(schedule, role=schedule.role and role.name)
        return with_role if schedule.chat_id is not None else replace(with_role, workspace=folder)

    async def require_startable(self, schedule: Schedule, brought: Json) -> None:
        """Raises: UnfittingParameters if it cannot be started with what a request brought."""
        folder, role = await self._place_of(schedule)
        await self._require_fitting(schedule, {**brought, **schedule.parameters}, folder, role)

    async def _require_fitting(self, schedule: Schedule, parameters: Json, folder: str, role: RoleDefinition) -> None:
        """Raises: UnfittingParameters, NoSuchWorkflow, NoSuchJobTemplate, Forbidden, NotTrusted."""
        if schedule.workflow is not None:
            await self._workflows.order(schedule.workflow, parameters, workspace=folder, role=role)
        else:
            await self._templates.plan(schedule.template or "", parameters)

    async def _require_known(self, schedule: Schedule, folder: str) -> None:
        """Raises: UnfittingParameters if a request would bring what is no parameter."""
        if not schedule.payload:
            return
        definition: Workflow | JobTemplate
        if schedule.workflow is not None:
            definition = (await self._workflows.catalog(folder)).find(schedule.workflow).workflow
        else:
            definition = (await self._templates.catalog()).find(schedule.template or "")
        names = [parameter.name for parameter in definition.parameters]
        if unknown := [name for name in schedule.payload if name not in names]:
            reason = f"is not a parameter (it takes: {', '.join(names) or 'none'})"
            raise UnfittingParameters.of(definition.name, dict.fromkeys(unknown, reason))

    async def _place_of(self, schedule: Schedule) -> tuple[str, RoleDefinition]:
        """Returns the folder and the role of its runs. Raises: Invalid."""
        definition = self._roles.require(schedule.role) if schedule.role is not None else None
        if schedule.chat_id is None:
            return await self._find_workspace(schedule.workspace), definition or self._roles.require("actor")
        try:
            chat = await require_chat_in_folder(self._store, schedule.chat_id)
        except NotFound as fault:
            raise Invalid(fault.message, param="context_id") from fault
        if definition is not None and definition.name != chat.role:
            raise Invalid(f"This chat's role is {chat.role}: leave 'role' out, or switch the chat first.", param="role")
        return chat.workspace, self._roles.stored(chat.role)


def _require_only(schedule: Schedule, fault: UnfittingParameters) -> None:
    """Raises: the fault, but for what a trigger's requests bring."""
    if not fault.faults:
        raise fault
    faults = {name: reason for name, reason in fault.faults.items() if name not in schedule.payload}
    if faults:
        raise UnfittingParameters.of(schedule.template or schedule.workflow or "", faults) from fault


class TriggerDisabled(Conflict):
    code = "trigger_disabled"


class TriggerService:
    """A trigger's secret is shown once, to who makes it. It is stored as it is: no digest of it could check a signature."""

    def __init__(self, *, schedules: Schedules, service: ScheduleService, clock: Clock) -> None:
        self._schedules, self._service, self._clock = schedules, service, clock
        self._no_secret = new_secret(
            secrets.token_bytes(_SECRET_BYTES)
        )  # an unknown trigger's requests are checked like those of any other

    async def create(self, principal: Principal, draft: Schedule) -> tuple[Schedule, str]:
        """Returns the trigger and its secret. Raises: as `ScheduleService.create`."""
        secret = new_secret(secrets.token_bytes(_SECRET_BYTES))
        return await self._service.create(principal, draft, secret=secret), secret

    async def replace_secret(self, principal: Principal, trigger_id: str) -> str:
        """The secret before it is good no more. Raises: NotFound."""
        principal.require(Scope.DECIDE)
        trigger = await self._service.require(trigger_id, trigger=True)
        secret = new_secret(secrets.token_bytes(_SECRET_BYTES))
        await self._schedules.set_secret(trigger.id, secret)
        log.info("%s replaced the secret of the trigger %s", principal.label(), trigger.id)
        return secret

    async def deliver(self, trigger_id: str, delivery: Delivery) -> ScheduledStart:
        """Writes down what is to be started, in the name of who keeps the trigger; a delivery that came before, only once.

        Raises: NotSigned, TriggerDisabled, TooManyStarts, Invalid, UnfittingParameters; as what it starts.
        """
        secret = await self._schedules.secret(trigger_id)
        if not is_signed(delivery, secret or self._no_secret, self._clock.now()) or secret is None:
            raise NotSigned(NOT_SIGNED)
        if (earlier := await self._schedules.start(trigger_id, delivery.key)) is not None:
            return earlier
        start = await self._start_of(trigger_id, delivery)
        try:
            is_new = await self._schedules.add_start(start, most_due=MOST_WAITING, most_a_minute=MOST_A_MINUTE)
        except NotFound:
            raise NotSigned(NOT_SIGNED) from None
        if is_new:
            log.info("the trigger %s was started by the delivery %s", trigger_id, delivery.id)
            self._service.runner.wake()
        return await self._schedules.start(trigger_id, delivery.key) or start

    async def _start_of(self, trigger_id: str, delivery: Delivery) -> ScheduledStart:
        """Raises: NotSigned if the trigger is gone; TriggerDisabled, Invalid, UnfittingParameters; as what it starts."""
        trigger = await self._schedules.find(trigger_id)
        if trigger is None or not trigger.is_trigger:
            raise NotSigned(NOT_SIGNED)
        if not trigger.enabled:
            raise TriggerDisabled("This trigger is disabled. Someone who may decide on its server enables it again.")
        brought: Json = {}
        if trigger.payload:
            document = await asyncio.to_thread(_document, delivery.body)
            brought = brought_parameters(trigger.workflow or trigger.template or "", trigger.payload, document)
        await self._service.require_startable(trigger, brought)
        return ScheduledStart(
            trigger.id,
            delivery.key,
            self._clock.now(),
            StartReason.TRIGGER,
            trigger.principal,
            waits=True,
            parameters=brought,
        )


def _document(body: bytes) -> JsonValue:
    """Raises: Invalid."""
    try:
        return read_json(body, max_values=MAX_VALUES)
    except ValueError as error:
        raise Invalid(
            f"The body cannot be read as JSON ({str(error)[:80]}), and this trigger takes values from it."
        ) from None
