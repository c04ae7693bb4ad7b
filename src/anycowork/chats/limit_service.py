"""Shows and changes the limits of people and groups, with what they have used today."""

import logging
from collections.abc import Mapping

from anycowork.domain.errors import NotFound
from anycowork.domain.limits import (
    EACH,
    NO_LIMITS,
    DayLimits,
    DayUse,
    LimitBook,
    LimitChange,
    LimitKey,
    LimitKind,
    LimitSubject,
    UsedModel,
    limits_json,
    payer_of,
    read_group_name,
)
from anycowork.domain.messages import Json
from anycowork.domain.metering import UsageGroup
from anycowork.domain.people import name_key
from anycowork.domain.ports import Clock
from anycowork.domain.principals import OWNER, Principal, Scope, person_name_in
from anycowork.domain.times import midnight_after
from anycowork.store.sql.ledger import KeyLedger
from anycowork.store.sql.limits import LimitTable
from anycowork.store.sql.people import People

log = logging.getLogger(__name__)
NEWEST_CHANGES = 50


class LimitService:
    """Everyone sees their own limits and use; admins see and change all."""

    def __init__(self, *, limits: LimitTable, ledger: KeyLedger, people: People, clock: Clock) -> None:
        self._limits, self._ledger, self._people, self._clock = limits, ledger, people, clock

    async def show(self, principal: Principal) -> Json:
        """Raises: NotAllowed."""
        principal.require(Scope.READ)
        is_admin = Scope.MANAGE in principal.scopes
        book, now = await self._limits.book(), self._clock.now()
        subjects = await self._all(book) if is_admin else _own(book, payer_of(principal.label()))
        await self._ledger.write_all()
        used = await self._limits.used(subjects, day=now[:10])
        changes = await self._limits.changes(limit=NEWEST_CHANGES) if is_admin else []
        return {
            "day": now[:10],
            "ends_at": midnight_after(now),
            "person": _of_kind(book, LimitKind.PERSON, subjects),
            "group": _of_kind(book, LimitKind.GROUP, subjects),
            "today": [_today(subject, use) for subject, use in zip(subjects, used, strict=True)],
            "changes": [_change(change) for change in changes],
        }

    async def used_between(
        self, principal: Principal, by: UsageGroup, since: str, until: str
    ) -> tuple[list[UsedModel], dict[str, tuple[str, ...]]]:
        """Returns what people used on these days, and under which names each of them counts: their own, or those of their groups.

        An admin sees everyone; others themselves, or their own groups. Raises: NotAllowed.
        """
        principal.require(Scope.READ)
        await self._ledger.write_all()
        book, own_id = await self._limits.book(), payer_of(principal.label())
        used = await self._limits.used_between(since, until)
        is_admin = Scope.MANAGE in principal.scopes
        payers = {row.payer for row in used}
        names: dict[str, tuple[str, ...]] = {}
        if by is UsageGroup.PERSON:
            visible = payers if is_admin else payers & {own_id}
            names |= {id_: (_unique_name(id_, book),) for id_ in visible}
        else:
            own_groups = set(book.groups.get(own_id, ()))
            groups = {id_: book.groups.get(id_, ()) for id_ in payers}
            if not is_admin:
                groups = {id_: tuple(own_groups.intersection(listed)) for id_, listed in groups.items()}
            names |= {id_: listed for id_, listed in groups.items() if listed or is_admin}
        return [row for row in used if row.payer in names], names

    async def put(
        self, principal: Principal, limits_by_kind: Mapping[LimitKind, Mapping[str, DayLimits | None]]
    ) -> Json:
        """Replaces the limits of those who are named; what is not named stays. `EACH` names everyone who has none of their own.

        Raises: NotAllowed, NotFound, Invalid.
        """
        principal.require(Scope.MANAGE)
        present = {person.id: person.name for person in await self._people.all() if person.removed_at is None}
        ids = {**{name_key(name): id_ for id_, name in present.items()}, **{id_: id_ for id_ in present}}
        changed: dict[LimitKey, DayLimits | None] = {}
        for kind, limits in limits_by_kind.items():
            for name, new in limits.items():
                subject = name if name == EACH else _subject(kind, name, ids)
                changed[kind, subject] = None if subject == EACH and new == NO_LIMITS else new
        await self._limits.put(changed, {**present, OWNER.id: OWNER.name, EACH: "each"}, by=principal.label())
        log.info("%s changed the limits of %d", principal.label(), len(changed))
        return await self.show(principal)

    async def _all(self, book: LimitBook) -> list[LimitSubject]:
        present = [person.id for person in await self._people.all() if person.removed_at is None]
        of_groups = {subject for kind, subject in book.limits if kind is LimitKind.GROUP and subject != EACH}
        groups = of_groups.union(*(book.groups.get(person_id, ()) for person_id in present))
        return [*map(book.person, (OWNER.id, *present)), *map(book.group, sorted(groups))]


def _unique_name(person_id: str, book: LimitBook) -> str:
    """Returns the person's name, with their id where somebody before them had the same one."""
    if person_id == OWNER.id:
        return OWNER.id
    name = book.names.get(person_id, person_id)
    return name if [*book.names.values()].count(name) < 2 else f"{name} ({person_id})"


def _own(book: LimitBook, person_id: str) -> list[LimitSubject]:
    return [book.person(person_id), *map(book.group, book.groups.get(person_id, ()))]


def _subject(kind: LimitKind, name: str, ids: Mapping[str, str]) -> str:
    if kind is LimitKind.GROUP:
        return read_group_name(name)
    person_id = OWNER.id if name == OWNER.id else ids.get(name) or ids.get(name_key(name))
    if person_id is None:
        raise NotFound("person", name)
    return person_id


def _of_kind(book: LimitBook, kind: LimitKind, subjects: list[LimitSubject]) -> Json:
    """Returns what each of this kind has, and below their names what some have instead."""
    by_name = {
        subject.id if subject.id == OWNER.id else subject.name: limits_json(limits)
        for subject in subjects
        if subject.kind is kind and (limits := book.limits.get((kind, subject.id))) is not None
    }
    return {**by_name, **(limits_json(book.limits.get((kind, EACH), NO_LIMITS)) or {})}


def _today(subject: LimitSubject, use: DayUse) -> Json:
    used: Json = {
        "usd": round(use.usd, 9),
        "tokens": use.tokens,
        "reserved": use.reserved,
        "jobs": use.jobs,
        "unpriced_requests": use.unpriced_requests,
    }
    limits = limits_json(subject.limits)
    return {"kind": subject.kind.value, "id": subject.id, "name": subject.name, "limits": limits, "used": used}


def _change(change: LimitChange) -> Json:
    changed_at, by = change.recorded_at, person_name_in(change.principal)
    return {**change.to_json(), "changed_at": changed_at, "by": by}
