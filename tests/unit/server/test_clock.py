"""Ids are UUIDv7 and ascend; times are RFC 3339 with microseconds."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from anycowork.server.clock import SystemClock


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


def test_threads_never_share_an_id() -> None:
    clock = SystemClock()
    with ThreadPoolExecutor(4) as threads:
        taken = [threads.submit(lambda: [clock.new_id() for _ in range(2_000)]) for _ in range(4)]
        ids = [one for some in taken for one in some.result(timeout=60)]
    assert len(set(ids)) == 8_000


def test_ids_ascend_even_if_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    before = clock.new_id()
    ns = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: ns)
    monkeypatch.setattr(time, "time", lambda: ns / 1e9)
    ids = [before, *(clock.new_id() for _ in range(2_000))]
    assert ids == sorted(ids) and len(set(ids)) == len(ids)
