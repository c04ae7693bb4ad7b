"""Formats times for records: RFC 3339, UTC, microseconds. Also reads times stored by other systems. Reads no clock."""

from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

_WRITTEN = len("2026-01-24T10:00:00.000000Z")
_LATEST_SECOND = 10**11  # beyond it (the year 5138) a number counts milliseconds


def written_time(time: datetime) -> str:
    """Returns the time in our one format, so that times compare as text."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def later(written: str, seconds: float) -> str:
    """Returns the time that many seconds after a written one."""
    return written_time(datetime.fromisoformat(written) + timedelta(seconds=seconds))


def midnight_after(written: str) -> str:
    """Returns when the day (UTC) of a written time ends."""
    midnight = datetime.fromisoformat(written).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return written_time(midnight + timedelta(days=1))


def seconds_between(earlier: str, written: str) -> float:
    """Returns the seconds from one written time to a later one; 0 if it is not later."""
    return max(0.0, (datetime.fromisoformat(written) - datetime.fromisoformat(earlier)).total_seconds())


def local_time(written: str, *, seconds: bool = False) -> str:
    """Returns a written time as a person of this machine reads it; a text that is not a time stays unchanged."""
    try:
        time = datetime.fromisoformat(written).astimezone()
    except ValueError:
        return written
    return f"{time:%Y-%m-%d %H:%M:%S}" if seconds else f"{time:%Y-%m-%d %H:%M}"


def stored_time(stored: JsonValue) -> str:
    """Returns a stored time in our format, from a text (without a zone: UTC) or from seconds or milliseconds since 1970. A value that
    is not a time stays unchanged; None becomes empty."""
    if isinstance(stored, str) and len(stored) == _WRITTEN and stored.endswith("Z"):
        return stored
    try:
        time = _read(stored)
    except (ValueError, OverflowError, OSError):
        time = None
    if time is None:
        return str(stored or "")
    return written_time(time)


def _read(stored: JsonValue) -> datetime | None:
    if isinstance(stored, str) and stored.isascii() and stored.isdigit():
        stored = int(stored)
    if isinstance(stored, str):
        time = datetime.fromisoformat(stored.strip())
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        return None
    return datetime.fromtimestamp(stored / 1000 if stored > _LATEST_SECOND else stored, UTC)
