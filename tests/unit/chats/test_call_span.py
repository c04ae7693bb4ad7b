"""The time of a call is from its request to its result, without what a person thought about it."""

import pytest

from anycowork.chats.plan_audit import CallSpan
from support.spec import proves


@proves("PLN-5/5")
@pytest.mark.parametrize(
    ("ended", "waited", "seconds"),
    [("10:00:10", 0.0, 10.0), ("10:00:10", 4.0, 6.0), ("10:00:10", 12.0, 0.0), (None, 0.0, None)],
)
def test_time_of_a_call_is_without_a_persons_thinking(ended: str | None, waited: float, seconds: float | None) -> None:
    day = "2026-01-01T"
    assert CallSpan(f"{day}10:00:00Z", f"{day}{ended}Z" if ended else None, waited).seconds == seconds
