"""People of one server: their names, what they may do, and changes to them as records of a hash chain. Pure.

The owner, who has the server's token, is not among them.
"""

import json
import unicodedata
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256

from pydantic import JsonValue

from anycowork.domain.audit import BrokenChain
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Invalid
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, is_hidden, visible_line

LONGEST_PERSON_NAME = 60
PERSON_TOKEN_PREFIX = "pt-ac-"
_SIGNS = frozenset(" -.'’")
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"})
# Letters of other scripts, and digits, that look like a Latin letter. Mixed names are refused anyway; this is for names made of them alone.
_LOOK_ALIKES = str.maketrans(
    "авекмнорстухіјѕԁԛԝүґԍαβεηικνορτυχγωϲϳ0135",
    "abekmhopctyxljsdqwyrgabenlkvoptuxywcjoles",
)
_SAME_SHAPE = str.maketrans("iı", "ll")  # a capital I is an l to the eye
PEOPLE_CHAIN = "people/changes"
"""The name of this chain among those of the chats. No chat has it: their ids contain no slash."""


def is_person_token(token: str) -> bool:
    """Whether it has the form of a person's token. The server's own never has it."""
    return token.startswith(PERSON_TOKEN_PREFIX)


class AccessLevel(StrEnum):
    """What a person may do. The scopes of each level are in `principals.py`."""

    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


AUTHOR = "author"
"""In the payload of a message: the name of the person who wrote or decided it. Absent for the owner."""
DECIDED_BY = "decided_by"
"""In the facts of a call's result: the name of the person who allowed or denied it. Absent for the owner."""


@value
class PersonName:
    """Who a record names besides the owner: it stays readable after the person was removed."""

    id: str
    name: str


def authorship(person: PersonName | None) -> dict[str, JsonValue]:
    """Returns what the payload of a person's message says about its author; nothing for the owner's."""
    return {} if person is None else {AUTHOR: person.name}


@value
class Person:
    """`token_digest` is all that is known of the person's token; None once the person was removed."""

    id: str
    name: str
    access: AccessLevel
    created_at: str
    removed_at: str | None = None
    token_digest: str | None = None
    groups: tuple[str, ...] = ()

    def named(self) -> PersonName:
        return PersonName(self.id, self.name)


def read_person_name(text: str) -> str:
    """Returns the name as it is stored. Raises: Invalid for one that a reader could take for something else."""
    name = unicodedata.normalize("NFC", " ".join(text.split(" ")).strip())
    if not 1 <= len(name) <= LONGEST_PERSON_NAME:
        raise _invalid(name, f"has no length from 1 to {LONGEST_PERSON_NAME}")
    letters = [sign for sign in name if not sign.isdecimal() and sign not in _SIGNS]
    if any(is_hidden(sign) or unicodedata.category(sign)[0] not in "LM" for sign in letters):
        raise _invalid(name, "has other signs than letters, digits, spaces, dots, dashes and apostrophes")
    if not letters or unicodedata.category(name[0])[0] != "L":
        raise _invalid(name, "does not begin with a letter")
    if any(not sign.isascii() for sign in name if sign.isdecimal()):
        raise _invalid(name, "has digits that are not 0 to 9")
    if len({_script(sign) for sign in letters if unicodedata.category(sign)[0] == "L"}) > 1:
        raise _invalid(name, "mixes letters of several scripts, which can look like another name")
    if name_key(name) in _RESERVED:
        raise _invalid(name, "means the server or its owner")
    return name


def name_key(name: str) -> str:
    """Returns the same text for all names that a reader could take for one another."""
    folded = unicodedata.normalize("NFKD", name.casefold())
    plain = "".join(sign for sign in folded if unicodedata.category(sign)[0] in "LN")
    return plain.translate(_LOOK_ALIKES).translate(_SAME_SHAPE)


_RESERVED = frozenset(
    name_key(word)
    for word in (
        "owner",
        "the owner",
        "the owner of this server",
        "server",
        "the server",
        "anycowork",
        "anycowork itself",
        "house",
        "you",
        "me",
        "admin",
        "system",
        "agent",
        "person owner",
    )
)


def _script(letter: str) -> str:
    word = unicodedata.name(letter, "UNKNOWN").split()[0]
    return "EAST ASIAN" if word in _EAST_ASIAN else word


def _invalid(name: str, reason: str) -> Invalid:
    visible_name = visible_line(UntrustedText(name[:LONGEST_PERSON_NAME]))
    return Invalid(
        f"'{visible_name}' cannot be a person's name: it {reason}. Choose another, such as 'Ada' or 'Ada L.'.",
        param="name",
    )


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
        """Returns the bytes that the audit chain covers."""
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
    """Returns the first person whose stored row is not what the recorded changes made it; None if all are."""
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
