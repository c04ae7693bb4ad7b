"""Changes to the people of a server, as records of a hash chain: who changed what about whom, and when. Pure."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256

from anycowork.domain.audit import BrokenChain
from anycowork.domain.bounded_json import read_json
from anycowork.domain.people import AccessLevel, Person
from anycowork.domain.values import value

PEOPLE_CHAIN = "people/changes"
"""The name of this chain among those of the chats. No chat has it: their ids contain no slash."""


class PeopleChangeType(StrEnum):
    ADDED = "person-added"
    CHANGED = "person-changed"
    TOKEN_RENEWED = "person-token-renewed"
    REMOVED = "person-removed"


@value
class PeopleChange:
    """One change, by the principal with this label. Name and access are those after it; `old_name` and `old_access` those before.

    `token_mark` tells whether the stored token is still the one of this change. It says nothing about the token itself.
    """

    seq: int
    type: PeopleChangeType
    at: str
    principal: str
    person_id: str
    name: str
    access: AccessLevel
    old_name: str | None
    old_access: AccessLevel | None
    token_mark: str | None
    groups: tuple[str, ...] = ()
    old_groups: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Return what the chain covers."""
        return json.dumps(
            {
                "seq": self.seq,
                "type": self.type.value,
                "at": self.at,
                "principal": self.principal,
                "person": {
                    "id": self.person_id,
                    "name": self.name,
                    "access": self.access.value,
                    "groups": [*self.groups],
                },
                "before": None
                if self.old_name is None or self.old_access is None
                else {"name": self.old_name, "access": self.old_access.value, "groups": [*self.old_groups]},
                "token_mark": self.token_mark,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()


def people_change(seq: int, by: str, recorded_at: str, before: Person | None, after: Person) -> PeopleChange:
    return PeopleChange(
        seq,
        _type_of(before, after),
        recorded_at,
        by,
        after.id,
        after.name,
        after.access,
        before.name if before else None,
        before.access if before else None,
        _token_mark(after),
        after.groups,
        before.groups if before else (),
    )


def read_people_change(body: bytes) -> PeopleChange:
    """Raises: ValueError, KeyError, TypeError for what is no such record."""
    record = read_json(body, strict=False)
    if not isinstance(record, dict):
        raise TypeError("not a change of a person")
    person, before = record["person"], record["before"]
    if not isinstance(person, dict) or not isinstance(before, dict | None):
        raise TypeError("not a change of a person")
    return PeopleChange(
        int(str(record["seq"])),
        PeopleChangeType(str(record["type"])),
        str(record["at"]),
        str(record["principal"]),
        str(person["id"]),
        str(person["name"]),
        AccessLevel(str(person["access"])),
        str(before["name"]) if before else None,
        AccessLevel(str(before["access"])) if before else None,
        None if record["token_mark"] is None else str(record["token_mark"]),
        _read_groups(person),
        _read_groups(before or {}),
    )


def _read_groups(person: Mapping[str, object]) -> tuple[str, ...]:
    groups = person.get("groups", [])
    return tuple(map(str, groups)) if isinstance(groups, list) else ()


def find_unrecorded(changes: Iterable[PeopleChange], people: Iterable[Person]) -> BrokenChain | None:
    """Return the first person whose stored row is not what the recorded changes made it; None if all are."""
    last = {change.person_id: change for change in changes}
    rows = {person.id: person for person in people}
    for person in rows.values():
        if (reason := _difference(last, person)) is not None:
            return BrokenChain(last[person.id].seq if person.id in last else 0, reason)
    missing = next((change for id_, change in last.items() if id_ not in rows), None)
    return None if missing is None else BrokenChain(missing.seq, f"the row of '{missing.name}' is missing")


def _difference(last: Mapping[str, PeopleChange], person: Person) -> str | None:
    change = last.get(person.id)
    if change is None:
        return f"'{person.name}' is here without a recorded change"
    pairs = {
        "name": (change.name, person.name),
        "access": (change.access, person.access),
        "groups": (change.groups, person.groups),
        "token": (change.token_mark, _token_mark(person)),
        "removal": (change.type is PeopleChangeType.REMOVED, person.removed_at is not None),
    }
    different = [aspect for aspect, (recorded, stored) in pairs.items() if recorded != stored]
    return f"the {different[0]} of '{change.name}' is not the recorded one" if different else None


def _type_of(before: Person | None, after: Person) -> PeopleChangeType:
    if before is None:
        return PeopleChangeType.ADDED
    if after.removed_at is not None:
        return PeopleChangeType.REMOVED
    if after.token_digest != before.token_digest:
        return PeopleChangeType.TOKEN_RENEWED
    return PeopleChangeType.CHANGED


def _token_mark(person: Person) -> str | None:
    return None if person.token_digest is None else sha256(f"mark of {person.token_digest}".encode()).hexdigest()
