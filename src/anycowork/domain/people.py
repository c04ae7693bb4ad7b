"""People of one server: their names and what they may do. The owner, who has the server's token, is not among them."""

import unicodedata
from enum import StrEnum

from pydantic import JsonValue

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
    """Return what the payload of a person's message says about its author; nothing for the owner's."""
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
    """Return the name as it is stored. Raises: Invalid for one that a reader could take for something else."""
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
    """Return the same text for all names that a reader could take for one another."""
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
