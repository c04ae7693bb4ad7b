"""Builds what tells people that a decision waits for them."""

import os

from anycowork.chats.notifications.message_sender import MailSecurity, MailServer, MessageSender, NotificationSettings
from anycowork.chats.notifications.notification_service import NotificationService
from anycowork.chats.notifications.notifier import Notifier
from anycowork.config.sections import SmtpEntry
from anycowork.server.live_settings import LiveSettings
from anycowork.server.setup.shared_components import SharedComponents


def build_notifications(shared: SharedComponents) -> NotificationService:
    database, clock = shared.database, shared.clock
    sender = MessageSender(shared.egress, lambda: notification_settings(shared.live_settings), database.notifications)
    notifier = Notifier(
        table=database.notifications, waits=database.waits, people=database.people, sender=sender, clock=clock
    )
    return NotificationService(table=database.notifications, notifier=notifier, sender=sender, clock=clock)


def notification_settings(live_settings: LiveSettings) -> NotificationSettings:
    now = live_settings.notifications()
    return NotificationSettings(
        page=(now.page_url or live_settings.own_address()).rstrip("/"),
        delay=now.delay,
        private_hosts=now.private_hosts,
        mail_server=None if now.smtp is None else _mail_server(now.smtp),
    )


def _mail_server(entry: SmtpEntry) -> MailServer:
    security = MailSecurity(entry.security)
    return MailServer(
        host=entry.host,
        port=entry.port or security.usual_port,
        security=security,
        sender=entry.sender,
        user=entry.user,
        password=os.environ.get(entry.password_env or "") or None,
        ca_file=None if entry.ca_file is None else str(entry.ca_file.expanduser()),
    )
