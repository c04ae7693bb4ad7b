"""Ids are UUIDv7 and ascend; times are RFC 3339 with microseconds."""

import re
from uuid import UUID

from anycowork.clock import SystemClock


def test_ids_are_distinct_ascending_uuids_of_version_7() -> None:
    clock = SystemClock()
    ids = [clock.new_id() for _ in range(10_000)]
    assert len(set(ids)) == len(ids) and ids == sorted(ids)
    assert {(UUID(one).version, UUID(one).variant) for one in ids} == {(7, "specified in RFC 4122")}


def test_two_clocks_do_not_give_the_same_ids() -> None:
    one, other = SystemClock(), SystemClock()
    assert not {one.new_id() for _ in range(1000)} & {other.new_id() for _ in range(1000)}


def test_now_is_utc_with_microseconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", SystemClock().now())
