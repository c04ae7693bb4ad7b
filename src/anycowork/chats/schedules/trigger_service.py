"""Triggers: schedules without times, which a signed request starts. Each delivery starts once."""

import asyncio
import logging
import secrets

from pydantic import JsonValue

from anycowork.chats.schedules.schedule_service import ScheduleService
from anycowork.domain.bounded_json import MAX_VALUES, read_json
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.messages import Json
from anycowork.domain.notifications import new_secret
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.schedules import Schedule, ScheduledStart, StartReason
from anycowork.domain.triggers import (
    MOST_A_MINUTE,
    MOST_WAITING,
    NOT_SIGNED,
    Delivery,
    NotSigned,
    brought_parameters,
    is_signed,
)
from anycowork.store.sql.schedules import Schedules

_SECRET_BYTES = 32
log = logging.getLogger(__name__)


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
        """Return the trigger and its secret. Raises: as `ScheduleService.create`."""
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
