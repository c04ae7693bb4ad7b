"""Limits of people and groups for one day (UTC), and changes to them as records of a hash chain. Pure; the day is a parameter."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from enum import StrEnum

from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Invalid, LimitReached
from anycowork.domain.messages import Json
from anycowork.domain.metering import ModelUsage
from anycowork.domain.principals import OWNER, read_label
from anycowork.domain.values import replace, value

EACH = "*"
"""The subject of the limits that each person, or each group, has who has none of their own."""

ANSWER_TOKENS = 1024
"""Set aside for the answer of each request until its use is known."""

_GROUP_NAME = re.compile(r"(?=.{1,120}\Z)[a-z0-9][a-z0-9._-]*+(/[a-z0-9][a-z0-9._-]*+)*+")
LIMITS_CHANGED = "limits-changed"


class SpendingLimitReached(LimitReached):
    """What a person or a group may use on a day, or run at the same time, has no room. `amount` names which of their limits.
    `lifts_at` is the time from which there is room again, and `retry_after` the seconds until then; None where nobody knows."""

    retry_after: int | None = None

    def __init__(
        self, message: str, *, limit: str = "person", amount: str = "tokens_per_day", lifts_at: str | None = None
    ) -> None:
        super().__init__(message)
        self.limit, self.amount, self.lifts_at = limit, amount, lifts_at

    @property
    def param(self) -> str:
        return f"{self.limit}.{self.amount}"


class LimitKind(StrEnum):
    PERSON = "person"
    GROUP = "group"


class LimitAmount(StrEnum):
    USD = "usd_per_day"
    TOKENS = "tokens_per_day"
    JOBS = "jobs"


@value
class DayLimits:
    """None: no such limit. `jobs` run at the same time."""

    usd_per_day: float | None = None
    tokens_per_day: int | None = None
    jobs: int | None = None

    @property
    def bound_use(self) -> bool:
        """Whether they limit tokens or money, not only the number of jobs."""
        return self.tokens_per_day is not None or self.usd_per_day is not None


NO_LIMITS = DayLimits()
LimitKey = tuple[LimitKind, str]
"""A person's id or a group's name, or `EACH`."""


@value
class UsedModel:
    """What a person used of a model on a day. Keys count in dollars already: `usd` is theirs, and their `model` is empty."""

    payer: str
    used: ModelUsage
    usd: float = 0.0
    unpriced: int = 0
    answer: int = 0  # set aside for answers


@value
class DayUse:
    """`tokens` and `usd` count what requests that run have set aside: `reserved` tokens of them."""

    tokens: int = 0
    usd: float = 0.0
    reserved: int = 0
    unpriced_requests: int = 0
    jobs: int = 0


PricedBy = Callable[[ModelUsage], float | None]


@value
class LimitSubject:
    """A person or a group, with the limits that hold for them and the people whose use counts."""

    kind: LimitKind
    id: str
    name: str
    limits: DayLimits
    payers: tuple[str, ...]


@value
class LimitBook:
    """All limits of the server, and who is in which group. People who were removed stay in their groups: what they used counts."""

    limits: Mapping[LimitKey, DayLimits]
    names: Mapping[str, str]
    groups: Mapping[str, tuple[str, ...]]  # by person id

    def subjects_of(self, payer: str) -> tuple[LimitSubject, ...]:
        """Returns the limits that hold for what this person uses."""
        if not self.limits:
            return ()
        subjects = [self.person(payer), *map(self.group, self.groups.get(payer, ()))]
        return tuple(subject for subject in subjects if subject.limits != NO_LIMITS)

    def person(self, person_id: str) -> LimitSubject:
        name = self.names.get(person_id, OWNER.name)
        limits = self._of(LimitKind.PERSON, person_id)
        return LimitSubject(LimitKind.PERSON, person_id, name, limits, (person_id,))

    def group(self, name: str) -> LimitSubject:
        members = tuple(person_id for person_id, groups in self.groups.items() if name in groups)
        return LimitSubject(LimitKind.GROUP, name, name, self._of(LimitKind.GROUP, name), members)

    def _of(self, kind: LimitKind, subject: str) -> DayLimits:
        return self.limits.get((kind, subject)) or self.limits.get((kind, EACH), NO_LIMITS)


@value
class RequestedUse:
    """What a request is about to use. `model` is None where it is not known yet; then no price is asked for."""

    payer: str
    model: str | None = None
    prompt: int = 0
    answer: int = 1
    by_key: bool = False  # of a program: its use is counted by key, and `usd` is its price
    usd: float | None = None

    def usage(self) -> ModelUsage:
        return ModelUsage(self.model or "", 1, 0, self.prompt, self.answer, 0, 0, estimated=True)


def payer_of(label: str) -> str:
    """Returns the id of the person who pays for what this principal began."""
    person = read_label(label).person
    return OWNER.id if person is None else person.id


def read_group_name(text: str) -> str:
    """Returns the name as it is stored: upper and lower case do not matter. Raises: Invalid."""
    name = text.strip().casefold()
    if _GROUP_NAME.fullmatch(name) is None:
        raise Invalid(
            f"'{text[:60]}' cannot be a group's name. Use letters a to z, digits, dots, dashes and underscores, such as 'design' or 'teams/design'.",
            param="groups",
        )
    return name


def summed_use(used: Iterable[UsedModel], priced_by: PricedBy, *, jobs: int = 0) -> DayUse:
    """Adds up what was used and what is set aside. A model without a price counts in tokens alone."""
    tokens = reserved = unpriced = 0
    usd = 0.0
    for row in used:
        counted = _with_reserved(row)
        tokens += counted.prompt + counted.completion
        reserved += row.used.reserved + row.answer
        unpriced += row.unpriced
        usd += row.usd
        if row.used.model:
            cost = priced_by(counted)
            usd += cost or 0.0
            unpriced += 0 if cost is not None else counted.requests
    return DayUse(tokens, usd, reserved, unpriced, jobs)


def find_exceeded(
    subjects: Sequence[LimitSubject],
    used: Sequence[UsedModel],
    request: RequestedUse,
    *,
    priced_by: PricedBy,
    day: str,
) -> SpendingLimitReached | None:
    """Returns the refusal of the first limit that has no room for the request; None while each has."""
    cost = request.usd
    if cost is None and request.model is not None:
        cost = priced_by(request.usage())
    for subject in subjects:
        use = summed_use((row for row in used if row.payer in subject.payers), priced_by)
        most_tokens, most_usd = subject.limits.tokens_per_day, subject.limits.usd_per_day
        needed = request.prompt + request.answer
        if most_tokens is not None and use.tokens + needed > most_tokens:
            running = f", {use.reserved:,} of them set aside for requests that run" if use.reserved else ""
            reason = f"{use.tokens:,} of {most_tokens:,} tokens of today are used{running}, and the next request needs {needed:,}"
            return _refusal(subject, LimitAmount.TOKENS, reason, day, is_lifted=needed <= most_tokens)
        if most_usd is None:
            continue
        if request.model is not None and cost is None:
            reason = f"${most_usd:g} a day are allowed, and nobody knows what {request.model} costs"
            return _refusal(subject, LimitAmount.USD, reason, day)
        if use.usd + (cost or 0.0) > most_usd or use.usd >= most_usd > 0:
            reason = f"${use.usd:.4g} of ${most_usd:g} of today are used"
            return _refusal(subject, LimitAmount.USD, reason, day, is_lifted=(cost or 0.0) <= most_usd)
    return None


def too_many_jobs(subject: LimitSubject, running: int, day: str) -> SpendingLimitReached | None:
    """Returns the refusal of one more job; None while the limit has room for it."""
    if subject.limits.jobs is None or running < subject.limits.jobs:
        return None
    allowed = subject.limits.jobs
    return _refusal(subject, LimitAmount.JOBS, f"{running} of {allowed} jobs at the same time are running", day)


def _refusal(
    subject: LimitSubject, amount: LimitAmount, reason: str, day: str, *, is_lifted: bool = False
) -> SpendingLimitReached:
    """`is_lifted`: the next day has room for the request."""
    next_day = date.fromisoformat(day) + timedelta(days=1)
    whose = f"of {subject.name}" if subject.kind is LimitKind.PERSON else f"of the group '{subject.name}'"
    limit = f"The limit '{amount.value}' {whose} is reached: {reason}."
    if amount is LimitAmount.JOBS:
        way_out = "Start it when one of them has ended, or have an admin raise the limit."
    else:
        way_out = f"It ends at {next_day} 00:00 UTC. Go on then, or have an admin raise it."
    lifts_at = f"{next_day}T00:00:00Z" if is_lifted else None
    return SpendingLimitReached(f"{limit} {way_out}", limit=subject.kind.value, amount=amount.value, lifts_at=lifts_at)


def _with_reserved(row: UsedModel) -> ModelUsage:
    used = row.used
    return replace(used, prompt=used.prompt + used.reserved, completion=used.completion + row.answer, reserved=0)


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
        """Returns what the chain covers."""
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
