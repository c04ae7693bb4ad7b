"""Browser sessions: a cookie and a page key that belong together, and the one-time codes that start one.

Browsers send a host's cookies to every port of it, so the cookie alone grants nothing. The page keeps the page key in the storage of its
own origin, which no other port can read. Only digests are stored, in a file of the data folder, so that sessions survive a restart.

Sessions form a tree: what one made ends with it. A code may have been seen by others, so its session manages nothing until it was
confirmed, and a second use of the code ends all that came of the first. See docs/adr/0225.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anycowork.config.secure_files import write_private_file
from anycowork.domain.errors import StorageFault
from anycowork.domain.people import Person
from anycowork.domain.ports import Clock
from anycowork.domain.principals import NodeKind, descendants, node, read_node, root_of
from anycowork.domain.values import value

SESSIONS_FILE = "sessions.json"
MAX_SESSIONS = 50  # of one person
MAX_CODES = 20  # of one person
MAX_WRONG_CONFIRMATIONS = 5
SESSION_DAYS = 180
CODE_SECONDS = 60.0

EndMade = Callable[[NodeKind, str], Awaitable[None]]
"""Ends a person, a person's token, a client key or an invitation of a worker, by its id."""

log = logging.getLogger("anycowork.sessions")


@value
class BrowserSession:
    cookie: str
    page_key: str


@value
class SignInCode:
    """`confirmation` lets the session manage: it goes another way than the code, or the way must be private."""

    code: str
    confirmation: str
    session: BrowserSession


class SignOn(BaseModel):
    """What a session keeps of the sign-on with an OpenID provider that it came from: it ends with that, or at `until` without renewal."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    subject: str
    provider_session: str | None = None
    refresh_token: str | None = None
    renew_at: str
    until: str


class StoredSession(BaseModel):
    """What the file keeps of one session: its start, the digests of its secrets, whose it is, and what made it.

    `person_id` is None for the owner. `person_mark` identifies the person's token at the sign-in: a new one ends the session.
    `confirmation_sha256` is None once the session was confirmed.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    cookie_sha256: str
    page_key_sha256: str
    created_at: str
    person_id: str | None = None
    person_mark: str | None = None
    maker: str | None = None
    code_sha256: str | None = None
    confirmation_sha256: str | None = None
    sign_on: SignOn | None = None

    @property
    def node(self) -> str:
        return node(NodeKind.SESSION, self.cookie_sha256)

    @property
    def is_confirmed(self) -> bool:
        return self.confirmation_sha256 is None

    def is_of(self, person: Person) -> bool:
        """Tells whether it began with the token that this person has now."""
        return hmac.compare_digest(self.person_mark or "", _person_mark(person))


class StoredSessions(BaseModel):
    """`token_mark` identifies the server token under which the sessions began. A new token ends them all.

    `makers` has the maker of each person, token and key that a session made.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    token_mark: str
    sessions: list[StoredSession]
    makers: dict[str, str] = Field(default_factory=dict)


@value
class _OneTimeCode:
    session: BrowserSession
    person: Person | None
    expires: float
    maker: str | None
    confirmation_sha256: str | None
    sign_on: SignOn | None


async def _nothing_made(kind: NodeKind, id_: str) -> None:
    """Stands where no people and keys are known."""


class BrowserSessions:
    """Belongs to one event loop. Sessions are kept in memory; the file restores them after a restart."""

    def __init__(self, data_dir: Path, token: str, clock: Clock, end_made: EndMade = _nothing_made) -> None:
        self._path = data_dir / SESSIONS_FILE
        self._clock = clock
        self._end_made = end_made
        self._mark = hmac.new(token.encode(), b"anycowork browser sessions", hashlib.sha256).hexdigest()
        # The name distinguishes two servers on one host: both see each other's cookies.
        self.cookie_name = f"anycowork_{hashlib.sha256(token.encode()).hexdigest()[:8]}"
        self._codes: OrderedDict[str, _OneTimeCode] = OrderedDict()
        self._wrong_confirmations: Counter[str] = Counter()
        self._some_ended = asyncio.Event()
        self._sessions: OrderedDict[str, StoredSession] = OrderedDict()
        self._made_by: dict[str, str] = {}
        self._load()

    # --- codes

    def offer(
        self,
        seconds: float = CODE_SECONDS,
        *,
        person: Person | None = None,
        maker: str | None = None,
        needs_confirmation: bool = True,
        sign_on: SignOn | None = None,
    ) -> SignInCode:
        """Returns a one-time code, and the session that begins when the code is redeemed: of this person, or of the owner."""
        code, confirmation = secrets.token_urlsafe(24), f"{secrets.randbelow(10**6):06d}"
        offered = SignInCode(code, confirmation, _new_session())
        expires = self._clock.monotonic() + seconds
        unconfirmed = _digest(confirmation) if needs_confirmation else None
        self._codes[_digest(code)] = _OneTimeCode(offered.session, person, expires, maker, unconfirmed, sign_on)
        own_codes = [digest for digest, entry in self._codes.items() if _id_of(entry.person) == _id_of(person)]
        for digest in own_codes[:-MAX_CODES]:
            del self._codes[digest]
        return offered

    async def redeem(self, code: str, confirmation: str | None = None) -> BrowserSession | None:
        """Begins the session of this code; None if the code is unknown, expired or used.

        A second use means that somebody else saw the code, so all that came of the first use ends.
        """
        digest = _digest(code)
        begun = next((session for session in self._sessions.values() if session.code_sha256 == digest), None)
        if begun is not None:
            log.warning("a sign-in code was used twice; the session that it began was ended, with all that it made")
            await self.revoke(begun.node)
            return None
        offered = self._codes.pop(digest, None)
        if offered is None or offered.expires < self._clock.monotonic():
            return None
        unconfirmed = offered.confirmation_sha256
        if unconfirmed is not None and hmac.compare_digest(_digest(confirmation or ""), unconfirmed):
            unconfirmed = None
        await self._begin(offered.session, offered.person, offered.maker, digest, unconfirmed, offered.sign_on)
        return offered.session

    async def confirm(self, session: str, confirmation: str) -> bool:
        """Lets this session manage. Tells whether the confirmation was right; after a few wrong ones the session is revoked."""
        _, digest = read_node(session)
        stored = self._sessions.get(digest)
        if stored is None or stored.is_confirmed:
            return stored is not None
        if not hmac.compare_digest(_digest(confirmation), stored.confirmation_sha256 or ""):
            self._wrong_confirmations[digest] += 1
            if self._wrong_confirmations[digest] >= MAX_WRONG_CONFIRMATIONS:
                await self.revoke(session)
            return False
        self._sessions[digest] = stored.model_copy(update={"confirmation_sha256": None})
        await self._save()
        return True

    # --- sessions

    async def begin(self, person: Person | None = None) -> BrowserSession:
        """Begins a session for someone who proved to be this person, or the owner, in another way."""
        session = _new_session()
        await self._begin(session, person, None if person is None else self.maker_of(person), None, None)
        return session

    def find(self, cookie: str, page_key: str) -> StoredSession | None:
        """Returns the session that both belong to; None if there is none, or it has ended."""
        stored = self._sessions.get(_digest(cookie))
        matches = hmac.compare_digest(_digest(page_key), stored.page_key_sha256 if stored else "")
        return stored if matches and stored is not None and not self._is_over(stored) else None

    async def ended(self, session: str) -> None:
        """Returns when this session has ended."""
        while read_node(session)[1] in self._sessions:
            await self._some_ended.wait()

    async def end(self, session: str) -> None:
        """Ends this session, and the codes and sessions that it made. People and keys stay: signing out takes nothing back."""
        self._drop(descendants(self._makers(), session, through=_is_sign_in))
        await self._save()

    def signed_on(self) -> list[StoredSession]:
        """Returns the sessions that came from an OpenID provider."""
        return [stored for stored in self._sessions.values() if stored.sign_on is not None]

    async def end_sign_ons(self, is_over: Callable[[SignOn], bool]) -> None:
        """Ends the sessions, and the codes that nobody redeemed yet, whose sign-on is over."""
        over = {stored.node for stored in self.signed_on() if stored.sign_on is not None and is_over(stored.sign_on)}
        over |= {
            node(NodeKind.CODE, digest)
            for digest, code in self._codes.items()
            if code.sign_on is not None and is_over(code.sign_on)
        }
        self._drop({ended for name in over for ended in descendants(self._makers(), name, through=_is_sign_in)})
        await self._save()

    async def renew(self, session: str, sign_on: SignOn) -> None:
        """Stores the renewed sign-on of a session, unless it has ended meanwhile."""
        _, digest = read_node(session)
        if (stored := self._sessions.get(digest)) is not None:
            self._sessions[digest] = stored.model_copy(update={"sign_on": sign_on})
            await self._save()

    async def end_all_of(self, person_id: str) -> None:
        """Ends the sessions and the codes of a person who was removed or has a new token."""
        own_nodes = {
            node(NodeKind.CODE, digest) for digest, code in self._codes.items() if _id_of(code.person) == person_id
        }
        own_nodes |= {stored.node for stored in self._sessions.values() if stored.person_id == person_id}
        self._drop(
            {descendant for name in own_nodes for descendant in descendants(self._makers(), name, through=_is_sign_in)}
        )
        await self._save()

    # --- what sessions made

    def maker_of(self, person: Person) -> str | None:
        """Returns the node that this person's token belongs to; None if no session made it."""
        nodes = (node(kind, person.id) for kind in (NodeKind.TOKEN, NodeKind.PERSON))
        return next((name for name in nodes if name in self._made_by), None)

    async def record_made(self, kind: NodeKind, id_: str, maker: str | None) -> None:
        """Records what a session, or somebody whom a session made, has made. It ends at once if its maker ended in the meantime."""
        if maker is None:
            return
        self._made_by[node(kind, id_)] = maker
        if maker in self._makers():
            await self._save()
        else:
            await self.revoke(node(kind, id_))

    async def revoke(self, name: str) -> None:
        """Ends this node and everything that it made, people and keys included."""
        removed = descendants(self._makers(), name)
        self._drop(removed)
        await self._save()
        for kind, id_ in sorted(map(read_node, removed)):
            if kind not in (NodeKind.SESSION, NodeKind.CODE):
                await self._end_made(kind, id_)

    def _makers(self) -> dict[str, str | None]:
        """Returns the maker of each node that is there."""
        sessions = {stored.node: stored.maker for stored in self._sessions.values()}
        codes = {node(NodeKind.CODE, digest): code.maker for digest, code in self._codes.items()}
        return {**sessions, **codes, **self._made_by}

    def _drop(self, removed: set[str]) -> None:
        for kind, id_ in map(read_node, removed):
            if kind is NodeKind.SESSION:
                self._sessions.pop(id_, None)
                self._wrong_confirmations.pop(id_, None)
            elif kind is NodeKind.CODE:
                self._codes.pop(id_, None)
        # Of what stays nobody needs the maker any more, nor of what is ended.
        self._made_by = {name: maker for name, maker in self._made_by.items() if not {name, maker} & removed}
        self._some_ended.set()
        self._some_ended = asyncio.Event()

    async def _begin(
        self,
        session: BrowserSession,
        person: Person | None,
        maker: str | None,
        code_sha256: str | None,
        confirmation_sha256: str | None,
        sign_on: SignOn | None = None,
    ) -> None:
        stored = StoredSession(
            cookie_sha256=_digest(session.cookie),
            page_key_sha256=_digest(session.page_key),
            created_at=self._clock.now(),
            person_id=_id_of(person),
            person_mark=_person_mark(person) if person else None,
            maker=maker,
            code_sha256=code_sha256,
            confirmation_sha256=confirmation_sha256,
            sign_on=sign_on,
        )
        self._sessions[stored.cookie_sha256] = stored
        self._keep_quota(stored)
        await self._save()

    def _keep_quota(self, newest: StoredSession) -> None:
        """Ends the oldest session of this person if there are too many: one of the same root, so that none ends those beside it."""
        own_nodes = [session.node for session in self._sessions.values() if session.person_id == newest.person_id]
        if len(own_nodes) <= MAX_SESSIONS:
            return
        makers = self._makers()
        own_nodes.remove(newest.node)
        root = root_of(makers, newest.node)
        beside = [name for name in own_nodes if root_of(makers, name) == root and name != newest.maker]
        self._drop(descendants(makers, (beside or own_nodes)[0], through=_is_sign_in) - {newest.node})

    def _is_over(self, stored: StoredSession) -> bool:
        now = datetime.fromisoformat(self._clock.now())
        if stored.sign_on is not None and now > datetime.fromisoformat(stored.sign_on.until):
            return True
        return now - datetime.fromisoformat(stored.created_at) > timedelta(days=SESSION_DAYS)

    def _load(self) -> None:
        """Reads nothing if the file is missing or damaged, or if the token is new: then people sign in again."""
        try:
            stored = StoredSessions.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return
        if hmac.compare_digest(stored.token_mark, self._mark):
            self._sessions.update((session.cookie_sha256, session) for session in stored.sessions)
            self._made_by.update(stored.makers)

    async def _save(self) -> None:
        sessions = [stored.model_dump() for stored in self._sessions.values()]
        content = json.dumps({"token_mark": self._mark, "sessions": sessions, "makers": self._made_by}).encode()
        try:
            await asyncio.to_thread(write_private_file, self._path, content)
        except StorageFault as error:
            log.warning("browser sessions could not be stored, a restart will ask for the token again: %s", error)


def _is_sign_in(kind: NodeKind) -> bool:
    return kind in (NodeKind.SESSION, NodeKind.CODE)


def _id_of(person: Person | None) -> str | None:
    return person.id if person else None


def _person_mark(person: Person) -> str:
    """Returns what a session keeps of the person's token: another token has another mark."""
    return _digest(f"anycowork session of {person.id} {person.token_digest}")


def _new_session() -> BrowserSession:
    return BrowserSession(cookie=secrets.token_urlsafe(32), page_key=secrets.token_urlsafe(32))


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogateescape")).hexdigest()
