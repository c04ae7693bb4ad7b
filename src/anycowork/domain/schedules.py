"""Schedules: when a template or a workflow is started without a person at hand, and what was started. Pure; times are UTC texts.

A trigger is a schedule without times: a signed request starts it.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from anycowork.domain.errors import Conflict, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.origins import Origins
from anycowork.domain.plan import Budget
from anycowork.domain.times import seconds_between, written_time
from anycowork.domain.values import value

MOST_MISSED = 24
"""So many missed times are started or listed; those before them are dropped."""
ON_TIME_SECONDS = 60.0
"""A time that is seen later than this was missed."""
_LONGEST_CRON, _MOST_STEPS = 200, 2_000
_FURTHEST = timedelta(days=3660)
_DAY = timedelta(days=1)


class AlreadyStarted(Conflict):
    """Another server started it, or it is not to be started any more."""

    code = "already_started"


class MissedRule(StrEnum):
    """What is done about times at which no server ran: nothing, one run for all of them, or a run for each."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class StartReason(StrEnum):
    TIME = "time"
    PERSON = "person"
    TRIGGER = "trigger"


class StartStatus(StrEnum):
    """`due`: to be started. `skipped`: the run before it went on. `missed`: no server ran then."""

    DUE = "due"
    STARTED = "started"
    SKIPPED = "skipped"
    MISSED = "missed"
    FAILED = "failed"


@value
class Schedule:
    """`principal` is the label of who changed it last: its runs are theirs. `next_at` is None if no time is to come.

    With `chat_id` its runs go into that chat, else each into a new one in `workspace`. `paused` says why the server disabled it.
    `payload` maps the parameters that a trigger's requests bring to where they stand in the body.
    """

    id: str
    name: str
    cron: str | None
    at: str | None
    time_zone: str
    template: str | None
    workflow: str | None
    parameters: Json = field(hash=False)
    chat_id: str | None
    workspace: str | None
    role: str | None
    limits: Budget
    missed: MissedRule
    enabled: bool
    is_trigger: bool = False
    principal: str = ""
    created_by: str = ""
    created_at: str = ""
    changed_at: str = ""
    next_at: str | None = None
    paused: str | None = None
    payload: Mapping[str, str] = field(default_factory=dict, hash=False)

    def to_json(self) -> Json:
        timing: Json = (
            {"payload": {**self.payload}}
            if self.is_trigger
            else {"cron": self.cron, "at": self.at, "time_zone": self.time_zone, "missed": self.missed.value}
        )
        return {
            "id": self.id,
            "name": self.name,
            **timing,
            "template": self.template,
            "workflow": self.workflow,
            "parameters": self.parameters,
            "context_id": self.chat_id,
            "workspace": self.workspace,
            "role": self.role,
            "limits": self.limits.model_dump(mode="json", exclude_none=True),
            "enabled": self.enabled,
            "principal": self.principal,
            "created_by": self.created_by,
            "created_at": self.created_at,
            "changed_at": self.changed_at,
            **({} if self.is_trigger else {"next_at": self.next_at if self.enabled else None}),
            "paused": self.paused,
        }


@value
class ScheduledStart:
    """One time of a schedule. `key` is unique in the schedule: the due time, or what a person or a signed request brought.

    `waits`: it waits for the run before it, and is not skipped. `chat_id` is the chat that was opened for it. `outcome` is how the run
    stands or ended, None once its chat is deleted.
    """

    schedule_id: str
    key: str
    due_at: str
    reason: StartReason
    principal: str
    waits: bool = False
    status: StartStatus = StartStatus.DUE
    parameters: Json | None = field(default=None, hash=False)
    chat_id: str | None = None
    turn_id: str | None = None
    job_id: str | None = None
    error: str | None = None
    settled_at: str | None = None
    outcome: str | None = None

    def to_json(self) -> Json:
        return {
            "key": self.key,
            "due_at": self.due_at,
            "reason": self.reason.value,
            "principal": self.principal,
            "status": self.status.value,
            "context_id": self.chat_id,
            "run_id": self.turn_id,
            "job_id": self.job_id,
            "outcome": self.outcome,
            "error": self.error,
            "settled_at": self.settled_at,
        }


@value
class ClaimStart:
    """Binds a due start to its chat, and to the turn or the job in it once there is one. Refuses the whole change with
    AlreadyStarted unless it is due and free: so each is started once."""

    schedule_id: str
    key: str
    chat_id: str
    settled_at: str
    turn_id: str | None = None
    job_id: str | None = None


@value
class StartedBy:
    """What the records of a scheduled run get. `claim` is given the id of its turn or job; `origins` are those of a trigger's body."""

    note: Json = field(hash=False)
    limits: Budget
    origins: Origins
    claim: Callable[[str], ClaimStart]


# --- times


def first_time(schedule: Schedule, now: str) -> str:
    """Returns the schedule's next time. Raises: Invalid for times that no clock shows or that never come."""
    zone = read_zone(schedule.time_zone)
    if schedule.at is not None:
        return _read_at(schedule.at, zone, now)
    following = next_time(schedule, now)
    if following is None:
        raise Invalid(
            f"'{_shown(schedule.cron)}' never comes due. Choose days that exist in these months.", param="cron"
        )
    return following


def next_time(schedule: Schedule, after: str) -> str | None:
    """Returns the first time after this one; None if there is none. Raises: Invalid if the expression cannot be read."""
    if schedule.cron is None:
        return None
    after_time = datetime.fromisoformat(after)
    following = next(_times(schedule.cron, after_time, read_zone(schedule.time_zone)), None)
    return None if following is None else written_time(following)


def missed_times(schedule: Schedule, now: str) -> list[str]:
    """Returns the times from `next_at` up to now, oldest first: the newest `MOST_MISSED` of them and one more at most."""
    if schedule.next_at is None or schedule.next_at > now:
        return []
    if schedule.cron is None:
        return [schedule.next_at]
    zone, until = read_zone(schedule.time_zone), datetime.fromisoformat(now)
    since = datetime.fromisoformat(schedule.next_at)
    times = _until(schedule.cron, since, zone, until)
    if times is None:  # so many that only those of the last day can be among the newest
        times = _until(schedule.cron, until - _DAY, zone, until) or deque()
    return [*dict.fromkeys([schedule.next_at, *map(written_time, times)])][-(MOST_MISSED + 1) :]


def to_start(schedule: Schedule, times: list[str], now: str) -> list[str]:
    """Returns those of these times that are started; the others were missed."""
    if not times:
        return []
    if schedule.missed is MissedRule.ALL:
        return times[-MOST_MISSED:]
    is_on_time = seconds_between(times[-1], now) <= ON_TIME_SECONDS
    return times[-1:] if is_on_time or schedule.missed is MissedRule.ONCE else []


def read_zone(name: str) -> ZoneInfo:
    """Raises: Invalid."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise Invalid(
            f"There is no time zone '{_shown(name)}'. Send a name such as 'Europe/Berlin' or 'UTC'.", param="time_zone"
        ) from None


def _until(cron: str, since: datetime, zone: ZoneInfo, until: datetime) -> deque[datetime] | None:
    """Returns the newest of the times in between; None if there are too many to look at."""
    newest: deque[datetime] = deque(maxlen=MOST_MISSED + 1)
    for number, time in enumerate(_times(cron, since, zone)):
        if time > until:
            return newest
        if number >= _MOST_STEPS:
            return None
        newest.append(time)
    return newest


def _times(cron: str, after: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yields the times of the expression, in UTC. As Debian's cron does: what names an hour and a minute runs once where a clock shows
    that time twice, and at the next minute there is where it is skipped. Raises: Invalid."""
    try:
        if len(cron) > _LONGEST_CRON or len(cron.split()) != 5:
            raise CronSimError("it needs five fields")
        for time in CronSim(cron, after.astimezone(zone)):
            utc = time.astimezone(UTC)
            if utc > after:  # the first of two equal clock times is no time after the second
                yield utc
    except (CronSimError, ValueError, AssertionError, OverflowError) as error:
        raise Invalid(
            f"'{_shown(cron)}' is no cron expression that can come due ({str(error)[:60]}). Send five fields: minute, hour, day of the "
            "month, month, day of the week, such as '0 9 * * MON-FRI'. Every minute is the shortest interval.",
            param="cron",
        ) from None


def _read_at(text: str, zone: ZoneInfo, now: str) -> str:
    """Returns the time. Without an offset it is of the zone, and the first where its clock shows that time twice. Raises: Invalid."""
    try:
        time = datetime.fromisoformat(text)
        local = time if time.tzinfo else time.replace(tzinfo=zone)
        utc = local.astimezone(UTC)
        exists = time.tzinfo is not None or utc.astimezone(zone).replace(tzinfo=None) == time
    except (ValueError, OverflowError):
        raise Invalid(f"'{_shown(text)}' is no time. Send one such as '2026-12-24T09:00'.", param="at") from None
    if not exists:
        raise Invalid(
            f"'{_shown(text)}' does not exist in {zone.key}: the clock is set forward over it. Choose an hour later.",
            param="at",
        )
    now_time = datetime.fromisoformat(now)
    if not now_time < utc <= now_time + _FURTHEST:
        reason = "is over" if utc <= now_time else "is more than ten years away"
        raise Invalid(f"'{_shown(text)}' {reason}. Choose a time to come.", param="at")
    return written_time(utc)


def _shown(text: str | None) -> str:
    return (text or "")[:80]
