"""Sends one message to one target, in the way of its kind."""

from collections.abc import Callable
from typing import assert_never

from anycowork.chats.notifications.email_sender import MailServer, send_email
from anycowork.chats.notifications.webhook_sender import HttpSender, send_webhook
from anycowork.domain.notifications import DeliveryOutcome, NotificationMessage, NotificationTarget, TargetKind
from anycowork.domain.values import value
from anycowork.sandbox.network.egress import Egress


@value
class NotificationSettings:
    """`page` is the address that people open; `delay` the seconds that something waits before anybody is told."""

    page: str = ""
    delay: float = 10.0
    private_hosts: tuple[str, ...] = ()
    mail_server: MailServer | None = None


class MessageSender:
    """Reads the settings for each message, so that a change applies at once."""

    def __init__(self, egress: Egress, settings: Callable[[], NotificationSettings]) -> None:
        self._egress = egress
        self.settings = settings

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
                return DeliveryOutcome(f"This server cannot send to {target.kind.value} targets.")
            case _:
                assert_never(target.kind)
