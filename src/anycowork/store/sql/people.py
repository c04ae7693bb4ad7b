"""The people table: who works on this server besides its owner. Stores only the digest of a token; rows of removed people stay."""

from collections.abc import Callable
from functools import partial

from anycowork.domain.audit import START, BrokenChain, ChainEnd, link
from anycowork.domain.errors import Conflict, NotAllowed, NotFound
from anycowork.domain.journal import RequireAccess, required_access
from anycowork.domain.limits import LIMITS_CHANGED, LimitChange
from anycowork.domain.people import (
    PEOPLE_CHAIN,
    AccessLevel,
    PeopleChange,
    Person,
    find_unrecorded,
    name_key,
    people_change,
    read_people_change,
)
from anycowork.domain.ports import Clock
from anycowork.domain.principals import (
    ACCESS_SCOPES,
    OWNER,
    Principal,
    PrincipalKind,
    ends_access,
    person_principal,
    read_label,
)
from anycowork.domain.values import replace
from anycowork.domain.visibility import Viewer
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.joined_workers import withdraw_invites
from anycowork.store.sql.notifications import remove_of_person
from anycowork.store.sql.principals import ChangeSignal
from anycowork.store.sql.row_mapper import RowMapper, enum_of, json_of, to_json_text
from anycowork.store.sql.schedules import pause_of_person
from anycowork.store.sql.visibility import VisibilityTable
from anycowork.store.sql.writer import Work, Writer


class People:
    """The people of this server besides its owner. Each change is recorded in a hash chain, `by` the label of who made it.

    Nothing is cached: a removed person is refused by the next request, on every server.
    """

    def __init__(
        self, reader: SqlReader, writer: Writer, clock: Clock, note: Callable[[str], None], *, shared: bool
    ) -> None:
        """`note` is called on the writer's thread with the name of the chain that grew.

        `shared`: other servers change people too, so `changed` looks again every second.
        """
        self._reader, self._writer, self._clock, self._note = reader, writer, clock, note
        self._signal = ChangeSignal(shared=shared)

    async def find(self, person_id: str) -> Person | None:
        """None if there is no such person, or it was removed."""
        return await self._reader.read(_find, person_id)

    async def holder(self, token_digest: str) -> Person | None:
        """Returns whose token has this digest; None if nobody's."""
        return await self._reader.read(_holder, token_digest)

    async def all(self) -> list[Person]:
        """Returns all, oldest first, including removed ones."""
        return await self._reader.read(stored_people)

    async def changes(self, *, before: int | None, limit: int) -> list[PeopleChange]:
        """Returns the recorded changes, newest first: those before this number, or the newest."""
        return await self._reader.read(newest_changes, before, limit)

    async def add(self, person: Person, *, by: str) -> None:
        """Raises: Conflict if the name could be taken for another person's."""
        await self._write(partial(_add, person=person), by)

    async def change(
        self,
        person_id: str,
        *,
        by: str,
        name: str | None = None,
        access: AccessLevel | None = None,
        groups: tuple[str, ...] | None = None,
    ) -> Person:
        """Returns the changed person. What they wrote for a running turn is withdrawn if they may only read now.

        Raises: NotFound, Conflict.
        """

        def changed(person: Person) -> Person:
            new_groups = person.groups if groups is None else groups
            return replace(person, name=name or person.name, access=access or person.access, groups=new_groups)

        return await self._write(partial(_change, person_id=person_id, changed=changed), by)

    async def set_token(self, person_id: str, token_digest: str, *, by: str) -> Person:
        """Replaces the token; the old one ends. Raises: NotFound."""
        return await self._write(
            partial(_change, person_id=person_id, changed=lambda person: replace(person, token_digest=token_digest)), by
        )

    async def remove(self, person_id: str, *, by: str) -> Person:
        """Raises: NotFound."""
        now = self._clock.now()
        return await self._write(
            partial(
                _change, person_id=person_id, changed=lambda person: replace(person, removed_at=now, token_digest=None)
            ),
            by,
        )

    async def acting(self, label: str) -> Principal:
        """Returns who has this label, with the access that they have now. Raises: NotAllowed if they are gone."""
        parts = read_label(label)
        person = await self.find(parts.person.id) if parts.person is not None else None
        if parts.person is not None and person is None:
            raise NotAllowed(f"{parts.person.name}, in whose name it runs, was removed from this server.")
        by = OWNER if person is None else person_principal(person)
        return (
            by
            if parts.kind is PrincipalKind.PERSON
            else Principal(parts.id, parts.kind, parts.id, by.access, by.person, by.groups)
        )

    async def require(self, principal: Principal) -> None:
        """Raises: NotAllowed if who asks may no longer do what they could when they were let in."""
        if (required := required_access(principal)) is not None:
            await self._reader.read(require_access, required)

    async def changed(self, person: Person) -> Person | None:
        """Returns when the stored person is not this one any more: with another access, name or token; None when removed."""
        newest: Person | None = person

        async def is_another() -> bool:
            nonlocal newest
            newest = await self.find(person.id)
            return newest != person

        await self._signal.until(is_another)
        return newest

    async def lost_access(self, person: Person) -> None:
        """Returns when what this person was let in with no longer holds."""
        latest: Person | None = person
        while latest is not None and not ends_access(person, latest):
            latest = await self.changed(latest)

    async def _write(self, work: Work[tuple[Person | None, Person]], by: str) -> Person:
        """Writes the change and its record in one transaction. A change that changes nothing is not recorded."""
        now = self._clock.now()

        def recorded(connection: SqlConnection) -> Person:
            before, after = work(connection)
            if before != after:
                add_change(connection, by, now, before, after)
                self._note(PEOPLE_CHAIN)
            return after

        person = await self._writer.run(recorded)
        self._signal.notify()
        return person


def _find(connection: SqlConnection, person_id: str) -> Person | None:
    row = connection.execute(
        f"SELECT {PERSON_ROWS.columns} FROM people WHERE id = ? AND removed_at IS NULL", (person_id,)
    ).fetchone()
    return None if row is None else PERSON_ROWS.value(row)


def _holder(connection: SqlConnection, token_digest: str) -> Person | None:
    row = connection.execute(
        f"SELECT {PERSON_ROWS.columns} FROM people WHERE token_digest = ? AND removed_at IS NULL", (token_digest,)
    ).fetchone()
    return None if row is None else PERSON_ROWS.value(row)


def require_access(connection: SqlConnection, write: RequireAccess, chat_id: str | None = None) -> None:
    """Raises: NotAllowed; NotFound if the chat is hidden from the person by now."""
    person = _find(connection, write.person_id)
    if person is None or not ACCESS_SCOPES[write.access] <= ACCESS_SCOPES[person.access]:
        raise NotAllowed("Your access has ended or was changed while this request waited. Nothing was done.")
    if chat_id is not None and VisibilityTable.hides_chat(connection, Viewer(person.id, person.groups), chat_id):
        raise NotFound("chat", chat_id)


def _add(connection: SqlConnection, person: Person) -> tuple[None, Person]:
    _require_free(connection, person)
    connection.execute(
        f"INSERT INTO people ({PERSON_ROWS.columns}, name_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*PERSON_ROWS.row(person), name_key(person.name)),
    )
    return None, person


def _change(
    connection: SqlConnection, person_id: str, changed: Callable[[Person], Person]
) -> tuple[Person | None, Person]:
    """Returns the person before and after the change. Raises: NotFound, Conflict."""
    before = _find(connection, person_id)
    if before is None:
        raise NotFound("person", person_id)
    person = changed(before)
    _require_free(connection, person)
    connection.execute(
        "UPDATE people SET name = ?, name_key = ?, access = ?, removed_at = ?, token_digest = ?, groups = ? WHERE id = ?",
        (
            person.name,
            name_key(person.name),
            person.access.value,
            person.removed_at,
            person.token_digest,
            to_json_text(person.groups),
            person.id,
        ),
    )
    if person.removed_at is not None or person.access is AccessLevel.VIEWER:
        _withdraw_steering(connection, person.id)
        reason = "was removed" if person.removed_at is not None else "may only read now"
        pause_of_person(connection, person.id, f"{person.name}, in whose name it runs, {reason}.")
    if person.removed_at is not None:
        remove_of_person(connection, person.id)
    if ends_access(before, person):
        withdraw_invites(connection, person.id)
    return before, person


def _require_free(connection: SqlConnection, person: Person) -> None:
    similar = connection.execute(
        "SELECT name FROM people WHERE name_key = ? AND id <> ? AND removed_at IS NULL",
        (name_key(person.name), person.id),
    ).fetchone()
    if similar is not None and person.removed_at is None:
        raise Conflict(
            f"'{person.name}' could be taken for '{similar[0]}', who is here already. Choose a name that looks different."
        )


def _withdraw_steering(connection: SqlConnection, person_id: str) -> None:
    """What this person wrote for a running turn waits in the queue from now on; it is not sent in their name."""
    connection.execute(
        "UPDATE queued_messages SET steer = 0 WHERE principal LIKE ? OR principal LIKE ?",
        (f"person:{person_id}:%", f"%:{person_id}:%"),
    )


PERSON_ROWS = RowMapper(
    Person,
    "id, name, access, created_at, removed_at, token_digest, groups",
    types={"access": enum_of(AccessLevel), "groups": json_of(tuple[str, ...])},
)


def add_change(connection: SqlConnection, by: str, recorded_at: str, before: Person | None, after: Person) -> None:
    append_change(connection, lambda seq: people_change(seq, by, recorded_at, before, after))


def append_change(connection: SqlConnection, numbered: Callable[[int], PeopleChange | LimitChange]) -> None:
    """Adds a change to the end of the chain. Transactions that write follow one another, so no other change comes between."""
    end = people_chain_end(connection) or ChainEnd(START, 0)
    change = numbered(end.seq + 1)
    body = change.to_bytes()
    connection.execute(
        "INSERT INTO people_changes (seq, type, hash, body) VALUES (?, ?, ?, ?)",
        (change.seq, str(change.type), link(end.hash, body), body),
    )


def people_chain_end(connection: SqlConnection) -> ChainEnd | None:
    """Returns None if no change was ever recorded."""
    row = connection.execute("SELECT hash, seq FROM people_changes ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else ChainEnd(str(row[0]), int(row[1]))


def newest_changes(connection: SqlConnection, before: int | None, limit: int) -> list[PeopleChange]:
    """Returns a page of the changes, newest first: those before this number, or the newest."""
    rows = connection.execute(
        "SELECT body FROM people_changes WHERE seq < ? AND type <> ? ORDER BY seq DESC LIMIT ?",
        (2**62 if before is None else before, LIMITS_CHANGED, limit),
    )
    return [read_people_change(row[0]) for row in rows]


def stored_people(connection: SqlConnection) -> list[Person]:
    """In the order in which they were added, removed ones included."""
    rows = connection.execute(f"SELECT {PERSON_ROWS.columns} FROM people ORDER BY created_at, id")
    return [PERSON_ROWS.value(row) for row in rows]


def check_people(connection: SqlConnection) -> BrokenChain | None:
    """Finds a person whose row was changed past the server. The chain itself is checked before."""
    try:
        rows = connection.execute("SELECT body FROM people_changes WHERE type <> ? ORDER BY seq", (LIMITS_CHANGED,))
        return find_unrecorded([read_people_change(row[0]) for row in rows], stored_people(connection))
    except (ValueError, KeyError, TypeError) as error:
        return BrokenChain(0, f"a row cannot be read ({error})")
