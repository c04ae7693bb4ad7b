"""The targets of people: each person lists, adds, tests and removes their own."""

import asyncio
import logging
import secrets

from anycowork.chats.notifications.message_sender import MessageSender, encrypted, public_key_of
from anycowork.chats.notifications.notifier import Notifier
from anycowork.domain.errors import Invalid, LimitReached, NotAllowed, NotFound
from anycowork.domain.network import read_address
from anycowork.domain.notifications import (
    MOST_AN_HOUR,
    DeliveryOutcome,
    NotificationMessage,
    NotificationTarget,
    TargetKind,
    new_secret,
    read_mail_address,
    read_push_keys,
    secret_bytes,
)
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, PrincipalKind, Scope
from anycowork.store.sql.notifications import NotificationTable

_SECRET_BYTES = 32
log = logging.getLogger(__name__)


class NotificationService:
    """A person who decides nothing is not waited for, and has no targets; a program has none either."""

    def __init__(self, *, table: NotificationTable, notifier: Notifier, sender: MessageSender, clock: Clock) -> None:
        self._table, self.notifier, self._sender, self._clock = table, notifier, sender, clock

    async def all(self, principal: Principal) -> list[NotificationTarget]:
        """Returns this person's targets, oldest first. Raises: NotAllowed."""
        return await self._table.targets_of(_person(principal))

    async def add_webhook(
        self, principal: Principal, *, name: str | None, url: str, secret: str | None
    ) -> tuple[NotificationTarget, str]:
        """Returns the target and its secret, which is told this once. Raises: Invalid, Conflict, NotAllowed."""
        try:
            address = str(read_address(url))
        except ValueError as error:
            raise Invalid(f"The webhook cannot be used: {error}.", param="url") from None
        signing_secret = secret or new_secret(secrets.token_bytes(_SECRET_BYTES))
        secret_bytes(signing_secret)
        return await self._add(principal, TargetKind.WEBHOOK, name, address, signing_secret), signing_secret

    async def add_email(self, principal: Principal, *, name: str | None, address: str) -> NotificationTarget:
        """Raises: Invalid, Conflict, NotAllowed."""
        return await self._add(principal, TargetKind.EMAIL, name, read_mail_address(address), "")

    async def add_browser(
        self, principal: Principal, *, name: str | None, endpoint: str, public_key: str, secret: str
    ) -> NotificationTarget:
        """Raises: Invalid, Conflict, NotAllowed."""
        keys = read_push_keys(public_key, secret)
        try:
            address = read_address(endpoint)
            await asyncio.to_thread(encrypted, b"", keys)
        except ValueError as error:
            raise Invalid(f"This push subscription cannot be used: {error}.", param="subscription") from None
        if address.scheme != "https" and Scope.MANAGE not in principal.scopes:
            raise Invalid("A push service is reached over https.", param="subscription.endpoint")
        return await self._add(principal, TargetKind.WEB_PUSH, name, str(address), keys.stored())

    async def push_key(self) -> str:
        """Returns the public key that browsers subscribe with."""
        return await asyncio.to_thread(public_key_of, await self._sender.server_key())

    async def remove(self, principal: Principal, target_id: str) -> None:
        """Raises: NotFound, also for another person's; NotAllowed."""
        await self._table.remove_target(target_id, person=_person(principal))
        log.info("%s removed the notification target %s", principal.label(), target_id)

    async def require(self, principal: Principal, target_id: str) -> NotificationTarget:
        """Raises: NotFound, also for another person's; NotAllowed."""
        for target in await self.all(principal):
            if target.id == target_id:
                return target
        raise NotFound("target", target_id[:80])

    async def test(self, principal: Principal, target_id: str) -> DeliveryOutcome:
        """Sends a test now. One that is delivered enables the target again. Raises: NotFound, NotAllowed, LimitReached."""
        target = await self.require(principal, target_id)
        now = self._clock.now()
        secret = await self._table.secret(target.id)
        if secret is None:
            raise NotFound("target", target_id[:80])
        if not await self._table.count_test(target.id, person=_person(principal), now=now):
            raise LimitReached(f"You were sent {MOST_AN_HOUR} messages within an hour. Try again later.")
        page = self._sender.settings().page
        message = NotificationMessage(f"msg_{secrets.token_hex(16)}", None, None, f"{page}/", now)
        outcome = await self._sender.send(target, secret, message, by_admin=Scope.MANAGE in principal.scopes)
        await self._table.settle(target.id, (), outcome, now=self._clock.now())
        return outcome

    async def _add(
        self, principal: Principal, kind: TargetKind, name: str | None, address: str, secret: str
    ) -> NotificationTarget:
        person = _person(principal)
        target = NotificationTarget(
            id=self._clock.new_id(),
            principal=principal.label(),
            kind=kind,
            name=(name or "").strip() or kind.value,
            address=address,
            created_at=self._clock.now(),
        )
        await self._table.add_target(target, person=person, secret=secret)
        log.info("%s added the notification target %s", principal.label(), target.id)
        self.notifier.wake()
        return target


def _person(principal: Principal) -> str:
    """Returns the id of the person. Raises: NotAllowed."""
    principal.require(Scope.DECIDE)
    if principal.kind is not PrincipalKind.PERSON:
        raise NotAllowed(
            f"{principal.name} may not say where a person is told. Only the person may, with their own token."
        )
    return principal.id
