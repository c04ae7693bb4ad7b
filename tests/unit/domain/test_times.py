"""Times of other systems, as we write them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.times import local_time, stored_time


@pytest.mark.parametrize(
    ("stored", "written"),
    [
        ("2026-01-24T10:00:00.123456Z", "2026-01-24T10:00:00.123456Z"),
        ("2026-01-24 10:00:00", "2026-01-24T10:00:00.000000Z"),
        ("2026-01-24T12:00:00+02:00", "2026-01-24T10:00:00.000000Z"),
        (1_700_000_000, "2023-11-14T22:13:20.000000Z"),
        ("1700000000", "2023-11-14T22:13:20.000000Z"),
        (1_700_000_000_500, "2023-11-14T22:13:20.500000Z"),
        (None, ""),
        ("", ""),
        ("yesterday", "yesterday"),
        (10**30, str(10**30)),
    ],
)
def test_a_time_is_written_in_utc_and_what_is_none_stays(stored, written):
    assert stored_time(stored) == written


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.datetimes().map(str))
def test_what_was_written_is_read_as_it_is(stored):
    assert stored_time(stored_time(stored)) == stored_time(stored)


def test_a_person_reads_the_time_of_their_own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert local_time("2026-01-24T23:10:05.000000Z") == "2026-01-25 08:10"
        assert local_time("2026-01-24T23:10:05.000000Z", seconds=True) == "2026-01-25 08:10:05"
        assert local_time("None") == "None"
    finally:
        monkeypatch.undo()
        time.tzset()
