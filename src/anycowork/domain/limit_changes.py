"""Changes to the limits of people and groups, as records of the same hash chain as the changes to people. Pure."""

import json
from collections.abc import Mapping

from anycowork.domain.bounded_json import read_json
from anycowork.domain.limits import DayLimits, LimitKey, LimitKind
from anycowork.domain.messages import Json
from anycowork.domain.values import value

LIMITS_CHANGED = "limits-changed"


@value
class LimitChange:
    """Whose limits were changed, by the principal with this label. `name` is the person's at that time, or the group's."""

    seq: int
    recorded_at: str
    principal: str
    kind: LimitKind
    subject: str
    name: str
    old: DayLimits | None
    new: DayLimits | None

    @property
    def type(self) -> str:
        return LIMITS_CHANGED

    def to_bytes(self) -> bytes:
        """Return what the chain covers."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()

    def to_json(self) -> Json:
        return {
            "seq": self.seq,
            "type": LIMITS_CHANGED,
            "at": self.recorded_at,
            "principal": self.principal,
            "kind": self.kind.value,
            "subject": self.subject,
            "name": self.name,
            "before": limits_json(self.old),
            "after": limits_json(self.new),
        }


def limit_change(
    by: str, recorded_at: str, key: LimitKey, name: str, old: DayLimits | None, new: DayLimits | None, seq: int
) -> LimitChange:
    return LimitChange(seq, recorded_at, by, *key, name, old, new)


def limits_json(limits: DayLimits | None) -> Json | None:
    if limits is None:
        return None
    return {"usd_per_day": limits.usd_per_day, "tokens_per_day": limits.tokens_per_day, "jobs": limits.jobs}


def is_limit_change(body: bytes) -> bool:
    record = read_json(body, strict=False)
    return isinstance(record, dict) and record.get("type") == LIMITS_CHANGED


def read_limit_change(body: bytes) -> LimitChange:
    """Raises: ValueError, KeyError, TypeError for what is no such record."""
    record = read_json(body, strict=False)
    if not isinstance(record, dict):
        raise TypeError("not a change of limits")
    return LimitChange(
        int(str(record["seq"])),
        str(record["at"]),
        str(record["principal"]),
        LimitKind(str(record["kind"])),
        str(record["subject"]),
        str(record["name"]),
        _read_limits(record["before"]),
        _read_limits(record["after"]),
    )


def _read_limits(stored: object) -> DayLimits | None:
    if stored is None:
        return None
    if not isinstance(stored, Mapping):
        raise TypeError("not the limits of a day")
    usd, tokens, jobs = (stored[name] for name in ("usd_per_day", "tokens_per_day", "jobs"))
    return DayLimits(
        None if usd is None else float(usd),
        None if tokens is None else int(tokens),
        None if jobs is None else int(jobs),
    )
