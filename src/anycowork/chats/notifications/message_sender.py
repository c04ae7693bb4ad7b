"""Sends one message to one target, in the way of its kind."""

import asyncio
from collections.abc import Callable
from typing import assert_never

from anycowork.chats.notifications.email_sender import MailServer, send_email
from anycowork.chats.notifications.push_sender import new_server_key, send_push
from anycowork.chats.notifications.webhook_sender import HttpSender, send_webhook
from anycowork.domain.notifications import (
    DeliveryOutcome,
    NotificationMessage,
    NotificationTarget,
    TargetKind,
    read_push_keys,
)
from anycowork.domain.values import value
from anycowork.sandbox.network.egress import Egress
from anycowork.store.sql.notifications import NotificationTable


@value
class NotificationSettings:
    """`page` is the address that people open; `delay` the seconds that something waits before anybody is told."""

    page: str = ""
    delay: float = 10.0
    private_hosts: tuple[str, ...] = ()
    mail_server: MailServer | None = None


class MessageSender:
    """Reads the settings for each message, so that a change applies at once."""

    def __init__(self, egress: Egress, settings: Callable[[], NotificationSettings], table: NotificationTable) -> None:
        self._egress = egress
        self.settings = settings
        self._table = table

    async def server_key(self) -> str:
        """Returns the key that Web Push is signed with; the first time it is made."""
        return await self._table.push_key() or await self._table.keep_push_key(await asyncio.to_thread(new_server_key))

    async def send(
        self, target: NotificationTarget, secret: str, message: NotificationMessage, *, by_admin: bool
    ) -> DeliveryOutcome:
        """`by_admin`: the target is of a person who may change the settings, and may name private addresses."""
        settings = self.settings()
        http = HttpSender(self._egress, settings.private_hosts)
        match target.kind:
            case TargetKind.WEBHOOK:
                return await send_webhook(http, target.address, secret, message, by_admin=by_admin)
            case TargetKind.EMAIL:
                return await send_email(settings.mail_server, target.address, message)
            case TargetKind.WEB_PUSH:
                keys = read_push_keys(*secret.split(" "))
                server_key = await self.server_key()
                return await send_push(http, target.address, keys, message, server_key, by_admin=by_admin)
            case _:
                assert_never(target.kind)
