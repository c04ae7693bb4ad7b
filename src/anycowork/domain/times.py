"""Times as every record writes them: RFC 3339, UTC, microseconds. What other systems stored is read here; nothing here knows what time it is."""

from datetime import UTC, datetime

from pydantic import JsonValue

_WRITTEN = len("2026-01-24T10:00:00.000000Z")
_LATEST_SECOND = 10**11  # beyond it (the year 5138) a number counts milliseconds


def written_time(moment: datetime) -> str:
    """In the one form that times have here, so that they compare as text."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def stored_time(stored: JsonValue) -> str:
    """A time as we write it, from a text (without a zone: UTC) or from seconds or milliseconds since 1970. What is no time stays
    as it is; what is nothing is empty."""
    if isinstance(stored, str) and len(stored) == _WRITTEN and stored.endswith("Z"):
        return stored
    try:
        moment = _read(stored)
    except (ValueError, OverflowError, OSError):
        moment = None
    if moment is None:
        return str(stored or "")
    return written_time(moment)


def _read(stored: JsonValue) -> datetime | None:
    if isinstance(stored, str) and stored.isascii() and stored.isdigit():
        stored = int(stored)
    if isinstance(stored, str):
        moment = datetime.fromisoformat(stored.strip())
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        return None
    return datetime.fromtimestamp(stored / 1000 if stored > _LATEST_SECOND else stored, UTC)
