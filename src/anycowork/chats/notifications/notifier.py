"""Tells people what waits for them: each wait once for each of their targets, whichever server does it, also after a crash."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence

from anycowork.chats.notifications.message_sender import MessageSender
from anycowork.domain.errors import AnyCoworkError, NotAllowed
from anycowork.domain.notifications import (
    Notification,
    NotificationStatus,
    NotificationTarget,
    Wait,
    waiting_message,
)
from anycowork.domain.ports import Clock
from anycowork.domain.principals import OWNER, Principal, Scope, read_label
from anycowork.domain.times import seconds_between
from anycowork.store.sql.notifications import NotificationTable
from anycowork.store.sql.people import People
from anycowork.store.sql.waits import WaitTable

EVERY_SECONDS = 4.0
"""What began to wait is seen after this time at the latest."""
_WITHOUT_TARGETS = 60.0
_SHORTEST_WAIT = 0.2
_AT_ONCE = 32
log = logging.getLogger(__name__)


class Notifier:
    """Looks at what stands, and at nothing that happens: no turn waits for it, and nothing is missed while no server runs."""

    def __init__(
        self, *, table: NotificationTable, waits: WaitTable, people: People, sender: MessageSender, clock: Clock
    ) -> None:
        self._table, self._waits, self._people = table, waits, people
        self._sender, self._clock = sender, clock
        self._wanted = asyncio.Event()
        self._sending: set[str] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def wake(self) -> None:
        """Has it look at once: somebody added a target."""
        self._wanted.set()

    async def keep_up(self) -> None:
        """Runs until it is cancelled. What failed is tried again; a slow receiver holds only its own messages up."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._wanted.clear()
                pause = EVERY_SECONDS
                try:
                    pause = await self.look(tasks)
                except (AnyCoworkError, OSError) as error:
                    log.warning("nobody could be told what waits: %s", error)
                try:
                    async with asyncio.timeout(pause):
                        await self._wanted.wait()
                except TimeoutError:
                    pass

    async def look(self, tasks: asyncio.TaskGroup) -> float:
        """Records what began to wait, and starts sending what is due. Returns the seconds until the next look. Raises: StorageFault."""
        targets = await self._table.targets()
        if not targets:
            return _WITHOUT_TARGETS
        now = self._clock.now()
        waits: dict[str, list[Wait]] = defaultdict(list)
        for wait in await self._waits.standing(now):
            waits[person_of(wait.principal)].append(wait)
        pause = EVERY_SECONDS
        for target in targets:
            standing = waits[person_of(target.principal)]
            if not standing or target.id in self._sending:
                continue
            due_now, next_at = await self._due(target, standing, now)
            if due_now:
                self._sending.add(target.id)
                tasks.create_task(self._tell(target, due_now))
            if next_at is not None:
                pause = min(pause, max(_SHORTEST_WAIT, seconds_between(now, next_at)))
        return pause

    async def _due(
        self, target: NotificationTarget, standing: Sequence[Wait], now: str
    ) -> tuple[list[Notification], str | None]:
        """Returns what this target is to be told now, and when the next is due."""
        recorded = {notification.wait_id: notification for notification in await self._table.notifications(target.id)}
        if new := [wait for wait in standing if wait.id not in recorded]:
            await self._table.add(target.id, new, now=now, delay=self._sender.settings().delay)
            recorded = {
                notification.wait_id: notification for notification in await self._table.notifications(target.id)
            }
        due_notifications = [
            notification
            for wait in standing
            if (notification := recorded.get(wait.id)) is not None and notification.status is NotificationStatus.DUE
        ]
        later_times = [notification.due_at for notification in due_notifications if notification.due_at > now]
        return [notification for notification in due_notifications if notification.due_at <= now], min(
            later_times, default=None
        )

    async def _tell(self, target: NotificationTarget, due_notifications: Sequence[Notification]) -> None:
        try:
            async with self._slots:
                await self._send(target, due_notifications)
        except (AnyCoworkError, OSError) as error:
            log.warning("the target %s could not be told: %s", target.id, error)
        finally:
            self._sending.discard(target.id)

    async def _send(self, target: NotificationTarget, due_notifications: Sequence[Notification]) -> None:
        """Sends one message about all that is due, if the person may still decide. Raises: StorageFault."""
        person, now = await acting_person(self._people, target), self._clock.now()
        if person is None:
            return
        hidden = await self._waits.hidden_from(person, [notification.chat_id for notification in due_notifications])
        due_notifications = [notification for notification in due_notifications if notification.chat_id not in hidden]
        claimed = await self._table.claim(target.id, due_notifications, person=person.id, now=now)
        secret = await self._table.secret(target.id)
        if not claimed or secret is None:
            return
        message = waiting_message(claimed, self._sender.settings().page, now)
        by_admin = Scope.MANAGE in person.scopes
        outcome = await self._sender.send(target, secret, message, by_admin=by_admin)
        if not outcome.is_delivered:
            log.info("the target %s was not reached: %s", target.id, outcome.error)
        await self._table.settle(target.id, claimed, outcome, now=self._clock.now())


async def acting_person(people: People, target: NotificationTarget) -> Principal | None:
    """Returns the person of the target with the access that they have now; None if they are gone, or decide nothing any more."""
    try:
        person = await people.acting(target.principal)
    except NotAllowed:
        return None
    return person if Scope.DECIDE in person.scopes else None


def person_of(label: str) -> str:
    """Returns the id of the person behind a label. What no person began is the owner's."""
    person = read_label(label).person
    return OWNER.id if person is None else person.id
