"""The notification_targets and notifications tables: where people get notifications, and which ones they got."""

from collections.abc import Sequence
from functools import partial

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.notifications import (
    CLAIM_SECONDS,
    HOUR,
    MOST_AN_HOUR,
    MOST_FAILURES,
    MOST_TARGETS,
    DeliveryOutcome,
    Notification,
    NotificationStatus,
    NotificationTarget,
    TargetKind,
    Wait,
    WaitKind,
    next_attempt,
)
from anycowork.domain.times import later
from anycowork.domain.values import replace
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.row_mapper import RowMapper, enum_of
from anycowork.store.sql.writer import Writer

_KEPT_SECONDS = 2 * 24 * 3600.0
_TARGETS = RowMapper(
    NotificationTarget,
    "id, principal, kind, name, address, created_at, disabled, failures, last_sent_at, last_error",
    types={"kind": enum_of(TargetKind)},
)
_NOTIFICATIONS = RowMapper(
    Notification,
    "target_id, wait_id, kind, chat_id, status, attempts, due_at",
    types={"kind": enum_of(WaitKind), "status": enum_of(NotificationStatus)},
)
_ADD = f"{_NOTIFICATIONS.insert('notifications')} ON CONFLICT (target_id, wait_id) DO NOTHING"
_CLAIM = (
    "UPDATE notifications SET attempts = attempts + 1, due_at = ?"
    " WHERE target_id = ? AND wait_id = ? AND due_at = ? AND status = 'due'"
)
_SENT_IN_HOUR = (
    "SELECT COALESCE(SUM(hour_sent), 0), MIN(hour_began) FROM notification_targets WHERE person = ? AND hour_began > ?"
)
_COUNT = (
    "UPDATE notification_targets SET hour_sent = CASE WHEN hour_began > ?1 THEN hour_sent + 1 ELSE 1 END,"
    " hour_began = CASE WHEN hour_began > ?1 THEN hour_began ELSE ?2 END WHERE id = ?3"
)
_PUSH_KEY = "SELECT private_key FROM notification_keys WHERE name = 'push'"
_SETTLE = "UPDATE notifications SET status = ?, due_at = ? WHERE target_id = ? AND wait_id = ? AND status = 'due'"
_DELIVERED = (
    "UPDATE notification_targets SET failures = 0, last_sent_at = ?, last_error = NULL, disabled = NULL WHERE id = ?"
)
_NOT_DELIVERED = "UPDATE notification_targets SET failures = failures + 1, last_error = ? WHERE id = ?"
_DISABLE = "UPDATE notification_targets SET disabled = ? WHERE id = ? AND disabled IS NULL AND (failures >= ? OR ? = 1)"


class NotificationTable(Table):
    """Targets and notifications. A target's secret has its own query; no other one reads it."""

    def __init__(self, reader: SqlReader, writer: Writer) -> None:
        super().__init__(reader)
        self._writer = writer

    @query
    def targets(connection: SqlConnection) -> list[NotificationTarget]:
        """Returns the targets of all people that are not disabled, oldest first."""
        rows = connection.execute(
            f"SELECT {_TARGETS.columns} FROM notification_targets WHERE disabled IS NULL ORDER BY id"
        )
        return [_TARGETS.value(row) for row in rows]

    @query
    def targets_of(connection: SqlConnection, person: str) -> list[NotificationTarget]:
        """Returns the targets of one person, oldest first."""
        rows = connection.execute(
            f"SELECT {_TARGETS.columns} FROM notification_targets WHERE person = ? ORDER BY id", (person,)
        )
        return [_TARGETS.value(row) for row in rows]

    @query
    def secret(connection: SqlConnection, target_id: str) -> str | None:
        row = connection.execute("SELECT secret FROM notification_targets WHERE id = ?", (target_id,)).fetchone()
        return None if row is None else row[0]

    @query
    def notifications(connection: SqlConnection, target_id: str) -> list[Notification]:
        rows = connection.execute(
            f"SELECT {_NOTIFICATIONS.columns} FROM notifications WHERE target_id = ?", (target_id,)
        )
        return [_NOTIFICATIONS.value(row) for row in rows]

    @query
    def push_key(connection: SqlConnection) -> str | None:
        """Returns the private key that Web Push is signed with."""
        row = connection.execute(_PUSH_KEY).fetchone()
        return None if row is None else row[0]

    async def keep_push_key(self, new_key: str) -> str:
        """Returns the stored key; stores this one if there is none."""
        return await self._writer.run(partial(_keep_push_key, new_key=new_key))

    async def add_target(self, target: NotificationTarget, *, person: str, secret: str) -> None:
        """Raises: Conflict if the person has too many, or this one."""
        await self._writer.run(partial(_add_target, target=target, person=person, secret=secret))

    async def remove_target(self, target_id: str, *, person: str) -> None:
        """Raises: NotFound, also for another person's."""
        await self._writer.run(partial(_remove_target, target_id=target_id, person=person))

    async def add(self, target_id: str, waits: Sequence[Wait], *, now: str, delay: float) -> None:
        """Records that these waits began; nothing for those that are recorded."""
        due_at = later(now, delay)
        new = [
            Notification(target_id, wait.id, wait.kind, wait.chat_id, NotificationStatus.DUE, 0, due_at)
            for wait in waits
        ]
        await self._writer.run(partial(_add, target_id=target_id, new=new, before=later(now, -_KEPT_SECONDS)))

    async def claim(
        self, target_id: str, due_notifications: Sequence[Notification], *, person: str, now: str
    ) -> list[Notification]:
        """Returns those that are to be sent now, by this server. If the person was told too often, none: they are due later."""
        return await self._writer.run(
            partial(_claim, target_id=target_id, due_notifications=due_notifications, person=person, now=now)
        )

    async def count_test(self, target_id: str, *, person: str, now: str) -> bool:
        """Counts one more message. Returns False if the person was sent too many."""
        return await self._writer.run(partial(_count, target_id=target_id, person=person, now=now)) is None

    async def settle(self, target_id: str, sent: Sequence[Notification], outcome: DeliveryOutcome, *, now: str) -> None:
        """Records how the delivery ended, and when it is tried again."""
        await self._writer.run(partial(_settle, target_id=target_id, sent=sent, outcome=outcome, now=now))


def _keep_push_key(connection: SqlConnection, new_key: str) -> str:
    connection.execute(
        "INSERT INTO notification_keys (name, private_key) VALUES ('push', ?) ON CONFLICT (name) DO NOTHING", (new_key,)
    )
    return str(connection.execute(_PUSH_KEY).fetchone()[0])


def remove_of_person(connection: SqlConnection, person: str) -> None:
    """Removes the targets of a person and what they were told."""
    connection.execute(
        "DELETE FROM notifications WHERE target_id IN (SELECT id FROM notification_targets WHERE person = ?)", (person,)
    )
    connection.execute("DELETE FROM notification_targets WHERE person = ?", (person,))


def _add_target(connection: SqlConnection, target: NotificationTarget, person: str, secret: str) -> None:
    rows = connection.execute("SELECT kind, address FROM notification_targets WHERE person = ?", (person,)).fetchall()
    if len(rows) >= MOST_TARGETS:
        raise Conflict(f"You have {MOST_TARGETS} targets already. Remove one.")
    if (target.kind.value, target.address) in [tuple(row) for row in rows]:
        raise Conflict("You have this target already. Remove it first, or test it.")
    connection.execute(
        _TARGETS.insert("notification_targets", "person", "secret"), _TARGETS.row(target, person, secret)
    )


def _remove_target(connection: SqlConnection, target_id: str, person: str) -> None:
    statement = "DELETE FROM notification_targets WHERE id = ? AND person = ?"
    if connection.execute(statement, (target_id, person)).rowcount != 1:
        raise NotFound("target", target_id)
    connection.execute("DELETE FROM notifications WHERE target_id = ?", (target_id,))


def _add(connection: SqlConnection, target_id: str, new: Sequence[Notification], before: str) -> None:
    connection.execute("DELETE FROM notifications WHERE target_id = ? AND due_at < ?", (target_id, before))
    connection.executemany(_ADD, [_NOTIFICATIONS.row(notification) for notification in new])


def _claim(
    connection: SqlConnection, target_id: str, due_notifications: Sequence[Notification], person: str, now: str
) -> list[Notification]:
    if _hour_used_up(connection, person, now) is not None:
        return []
    claimed_until = later(now, CLAIM_SECONDS)
    claimed = [
        replace(notification, attempts=notification.attempts + 1, due_at=claimed_until)
        for notification in due_notifications
        if connection.execute(_CLAIM, (claimed_until, target_id, notification.wait_id, notification.due_at)).rowcount
        == 1
    ]
    if claimed:
        connection.execute(_COUNT, (later(now, -HOUR), now, target_id))
    return claimed


def _count(connection: SqlConnection, target_id: str, person: str, now: str) -> str | None:
    """Returns since when the hour counts that is used up; None if it was not, and then this message is counted."""
    hour_began = _hour_used_up(connection, person, now)
    if hour_began is None:
        connection.execute(_COUNT, (later(now, -HOUR), now, target_id))
    return hour_began


def _hour_used_up(connection: SqlConnection, person: str, now: str) -> str | None:
    sent, hour_began = connection.execute(_SENT_IN_HOUR, (person, later(now, -HOUR))).fetchone()
    return str(hour_began) if sent >= MOST_AN_HOUR else None


def _settle(
    connection: SqlConnection, target_id: str, sent: Sequence[Notification], outcome: DeliveryOutcome, now: str
) -> None:
    for notification in sent:
        again_at = None if outcome.is_delivered else next_attempt(notification.attempts, now)
        status = NotificationStatus.SENT if outcome.is_delivered else NotificationStatus.FAILED
        status = status if again_at is None else NotificationStatus.DUE
        connection.execute(_SETTLE, (status.value, again_at or now, target_id, notification.wait_id))
    if outcome.is_delivered:
        connection.execute(_DELIVERED, (now, target_id))
        return
    connection.execute(_NOT_DELIVERED, (outcome.error, target_id))
    connection.execute(_DISABLE, (outcome.error, target_id, MOST_FAILURES, int(outcome.is_gone)))
