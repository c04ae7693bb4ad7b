"""When schedules come due: clocks that are set forward and back, missed times, and times that never come."""

from typing import Any

import pytest

from anycowork.domain.errors import Invalid
from anycowork.domain.plan import Budget
from anycowork.domain.schedules import (
    MOST_MISSED,
    MissedRule,
    Schedule,
    first_time,
    missed_times,
    next_time,
    to_start,
)
from support.spec import proves

NOW = "2026-11-19T08:00:00.000000Z"


def schedule(**fields: Any) -> Schedule:
    given: dict[str, Any] = {
        "id": "s",
        "name": "n",
        "cron": None,
        "at": None,
        "time_zone": "Europe/Berlin",
        "template": None,
        "workflow": "w",
        "parameters": {},
        "chat_id": None,
        "workspace": None,
        "role": None,
        "limits": Budget(),
        "missed": MissedRule.ONCE,
        "enabled": True,
    }
    return Schedule(**{**given, **fields})


def times(cron: str, after: str, count: int, zone: str = "Europe/Berlin") -> list[str]:
    found: list[str] = []
    for _ in range(count):
        following = next_time(schedule(cron=cron, time_zone=zone), found[-1] if found else after)
        assert following is not None
        found.append(following)
    return [time[5:16] for time in found]


@proves("OPS-8/1")
def test_a_time_that_the_clock_skips_comes_at_the_first_minute_after_the_gap() -> None:
    assert times("30 2 * * *", "2026-03-28T12:00:00.000000Z", 2) == ["03-29T01:00", "03-30T00:30"]


def test_a_time_that_the_clock_shows_twice_comes_once() -> None:
    assert times("30 2 * * *", "2026-10-24T12:00:00.000000Z", 2) == ["10-25T00:30", "10-26T01:30"]
    assert times("30 2 * * *", "2026-10-25T01:15:00.000000Z", 1) == [
        "10-26T01:30"
    ]  # asked during the second of the two


def test_an_interval_goes_on_by_the_real_time_where_the_clock_is_set() -> None:
    assert times("*/30 * * * *", "2026-10-24T23:45:00.000000Z", 4) == [
        "10-25T00:00",
        "10-25T00:30",
        "10-25T01:00",
        "10-25T01:30",
    ]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"cron": "* * * * * *"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"cron": "0 0 */31 2 0#5"}, "cron"),
        ({"cron": "9" * 5000 + " * * * *"}, "cron"),
        ({"cron": "9" * 150 + " * * * *"}, "cron"),
        ({"cron": "MON#2/3 * * * *"}, "cron"),
        ({"cron": "@daily"}, "cron"),
        ({"cron": "* * * * *", "time_zone": "Mars/Base"}, "time_zone"),
        ({"cron": "* * * * *", "time_zone": "../../etc/passwd"}, "time_zone"),
        ({"cron": "* * * * *", "time_zone": "Europe"}, "time_zone"),
        ({"at": "2026-11-19T08:59"}, "at"),
        ({"at": "2027-03-28T02:30"}, "at"),
        ({"at": "9999-12-31T23:59:59-23:00"}, "at"),
        ({"at": "2046-01-01T00:00"}, "at"),
        ({"at": "tomorrow"}, "at"),
    ],
)
def test_times_that_never_come_are_refused_with_their_field(fields: dict[str, str], param: str) -> None:
    with pytest.raises(Invalid) as refused:
        first_time(schedule(**fields), NOW)
    assert refused.value.param == param and len(refused.value.message) < 400


def test_one_time_is_of_the_zone_and_the_first_of_two() -> None:
    assert first_time(schedule(at="2027-10-31T02:30"), NOW) == "2027-10-31T00:30:00.000000Z"
    assert first_time(schedule(at="2026-11-19T10:00"), NOW) == "2026-11-19T09:00:00.000000Z"
    assert first_time(schedule(at="2026-11-19T10:00-05:00"), NOW) == "2026-11-19T15:00:00.000000Z"


@proves("OPS-8/8")
@pytest.mark.parametrize(
    ("rule", "late", "started"),
    [
        (MissedRule.SKIP, 30, 1),
        (MissedRule.SKIP, 90, 0),
        (MissedRule.ONCE, 30, 1),
        (MissedRule.ONCE, 90, 1),
        (MissedRule.ALL, 90, 3),
    ],
)
def test_missed_times_are_skipped_made_up_for_once_or_all_started(rule: MissedRule, late: int, started: int) -> None:
    hourly = schedule(cron="0 * * * *", missed=rule, next_at="2026-11-19T06:00:00.000000Z")
    now = f"2026-11-19T08:0{late // 60}:{late % 60:02}.000000Z"
    missed = missed_times(hourly, now)
    assert [time[11:16] for time in missed] == ["06:00", "07:00", "08:00"]
    assert to_start(hourly, missed, now) == missed[len(missed) - started :]


def test_after_a_long_outage_the_newest_times_are_left() -> None:
    after_a_year = schedule(cron="* * * * *", missed=MissedRule.ALL, next_at="2025-11-19T08:00:00.000000Z")
    missed = missed_times(after_a_year, NOW)
    assert len(missed) == MOST_MISSED + 1 and missed[-1] == NOW
    assert to_start(after_a_year, missed, NOW) == missed[1:]
    yearly = schedule(cron="0 9 1 1 *", next_at="2026-01-01T08:00:00.000000Z")
    assert missed_times(yearly, NOW) == ["2026-01-01T08:00:00.000000Z"]


def test_a_clock_that_is_set_back_brings_no_time_again() -> None:
    daily = schedule(cron="0 9 * * *", next_at="2026-11-20T08:00:00.000000Z")
    assert missed_times(daily, "2026-11-18T08:00:00.000000Z") == []
