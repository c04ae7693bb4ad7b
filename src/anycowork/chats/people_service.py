"""Adds, changes and removes the people of this server. Each change counts at once: nothing of a person's access is cached."""

import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence

from anycowork.domain.errors import Conflict
from anycowork.domain.limits import read_group_name
from anycowork.domain.people import PERSON_TOKEN_PREFIX, AccessLevel, PeopleChange, Person, read_person_name
from anycowork.domain.ports import Clock
from anycowork.domain.principals import OWNER, Principal, Scope
from anycowork.store.sql.people import People

log = logging.getLogger(__name__)


def person_token_digest(token: str) -> str:
    """Returns what is stored of a token. Tokens are long and random, so a plain digest is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class PeopleService:
    """Only admins reach it. Tokens are returned once and stored as digests; the log names people, never tokens.

    `end_sessions` ends the browser sessions of a person.
    """

    def __init__(self, *, people: People, end_sessions: Callable[[str], Awaitable[None]], clock: Clock) -> None:
        self._people, self._end_sessions, self._clock = people, end_sessions, clock

    async def all(self, principal: Principal) -> Sequence[Person]:
        """Returns the people who are here now, without the owner. Raises: NotAllowed."""
        principal.require(Scope.MANAGE)
        return [person for person in await self._people.all() if person.removed_at is None]

    async def changes(self, principal: Principal, *, before: int | None, limit: int) -> Sequence[PeopleChange]:
        """Returns who changed what about whom, newest first. Raises: NotAllowed."""
        principal.require(Scope.MANAGE)
        return await self._people.changes(before=before, limit=limit)

    async def add(
        self, principal: Principal, name: str, access: AccessLevel, groups: Sequence[str] = ()
    ) -> tuple[Person, str]:
        """Returns the new person and their token. Raises: NotAllowed, Invalid, Conflict."""
        principal.require(Scope.MANAGE)
        token = _new_token()
        now, digest = self._clock.now(), person_token_digest(token)
        person = Person(self._clock.new_id(), read_person_name(name), access, now, None, digest, _read_groups(groups))
        await self._people.add(person, by=principal.label())
        log.info("%s added %s as %s", principal.label(), person.name, access)
        return person, token

    async def change(
        self,
        principal: Principal,
        person_id: str,
        *,
        name: str | None,
        access: AccessLevel | None,
        groups: Sequence[str] | None = None,
    ) -> Person:
        """Raises: NotAllowed, Invalid, NotFound; Conflict for the owner, or if the name could be taken for another person's."""
        principal.require(Scope.MANAGE)
        _refuse_owner(person_id)
        new_name = None if name is None else read_person_name(name)
        new_groups = None if groups is None else _read_groups(groups)
        person = await self._people.change(
            person_id, by=principal.label(), name=new_name, access=access, groups=new_groups
        )
        log.info("%s changed %s: %s, %s", principal.label(), person.id, person.name, person.access)
        return person

    async def new_token(self, principal: Principal, person_id: str) -> tuple[Person, str]:
        """Returns the person and their new token. The old one, and the browsers that signed in with it, end. Raises: NotAllowed,
        NotFound."""
        principal.require(Scope.MANAGE)
        _refuse_owner(person_id)
        token = _new_token()
        person = await self._people.set_token(person_id, person_token_digest(token), by=principal.label())
        await self._end_sessions(person_id)
        log.info("%s made a new token for %s", principal.label(), person.name)
        return person, token

    async def remove(self, principal: Principal, person_id: str) -> None:
        """Raises: NotAllowed, NotFound; Conflict for the owner."""
        principal.require(Scope.MANAGE)
        _refuse_owner(person_id)
        person = await self._people.remove(person_id, by=principal.label())
        await self._end_sessions(person_id)
        log.info("%s removed %s", principal.label(), person.name)


def _read_groups(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({read_group_name(name) for name in names}))


def _new_token() -> str:
    return PERSON_TOKEN_PREFIX + secrets.token_urlsafe(32)


def _refuse_owner(person_id: str) -> None:
    if person_id == OWNER.id:
        raise Conflict(
            "The owner of this server stays an admin and cannot be changed or removed: the owner's token is in the data folder."
        )
