"""Builds what tells people that a decision waits for them."""

from anycowork.chats.notifications.message_sender import MessageSender, NotificationSettings
from anycowork.chats.notifications.notification_service import NotificationService
from anycowork.chats.notifications.notifier import Notifier
from anycowork.server.live_settings import LiveSettings
from anycowork.server.setup.shared_components import SharedComponents


def build_notifications(shared: SharedComponents) -> NotificationService:
    database, clock = shared.database, shared.clock
    sender = MessageSender(shared.egress, lambda: notification_settings(shared.live_settings))
    notifier = Notifier(
        table=database.notifications, waits=database.waits, people=database.people, sender=sender, clock=clock
    )
    return NotificationService(table=database.notifications, notifier=notifier, sender=sender, clock=clock)


def notification_settings(live_settings: LiveSettings) -> NotificationSettings:
    now = live_settings.notifications()
    own_address = f"http://{now.host}:{now.port}" if now.port else ""
    return NotificationSettings(
        page=(now.page_url or own_address).rstrip("/"),
        delay=now.notification_delay,
        private_hosts=now.notification_hosts,
    )
