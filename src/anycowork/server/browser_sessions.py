"""Browser sessions: a cookie and a page key that belong together, and the one-time codes that start one.

Browsers send a host's cookies to every port of it, so the cookie alone grants nothing. The page keeps the page key in the storage of its
own origin, which no other port can read. Only digests are stored, in a file of the data folder, so that sessions survive a restart.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import secrets
from collections import OrderedDict
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from anycowork.config.secure_files import write_private_file
from anycowork.domain.errors import StorageFault
from anycowork.domain.people import Person
from anycowork.domain.ports import Clock
from anycowork.domain.values import value

SESSIONS_FILE = "sessions.json"
MAX_SESSIONS = 50
MAX_CODES = 20
SESSION_DAYS = 180
CODE_SECONDS = 60.0

log = logging.getLogger("anycowork.sessions")


@value
class BrowserSession:
    cookie: str
    page_key: str


class StoredSession(BaseModel):
    """What the file keeps of one session: its start, the digests of its two secrets, and whose it is.

    `person_id` is None for the owner. `person_mark` identifies the person's token at the sign-in: a new one ends the session.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    cookie_sha256: str
    page_key_sha256: str
    created_at: str
    person_id: str | None = None
    person_mark: str | None = None

    def is_of(self, person: Person) -> bool:
        """Tells whether it began with the token that this person has now."""
        return hmac.compare_digest(self.person_mark or "", _person_mark(person))


class StoredSessions(BaseModel):
    """`token_mark` identifies the server token under which the sessions began. A new token ends them all."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    token_mark: str
    sessions: list[StoredSession]


@value
class _OneTimeCode:
    session: BrowserSession
    person: Person | None
    expires: float


class BrowserSessions:
    """Belongs to one event loop. Sessions are kept in memory; the file restores them after a restart."""

    def __init__(self, data_dir: Path, token: str, clock: Clock) -> None:
        self._path = data_dir / SESSIONS_FILE
        self._clock = clock
        self._mark = hmac.new(token.encode(), b"anycowork browser sessions", hashlib.sha256).hexdigest()
        # The name distinguishes two servers on one host: both see each other's cookies.
        self.cookie_name = f"anycowork_{hashlib.sha256(token.encode()).hexdigest()[:8]}"
        self._codes: OrderedDict[str, _OneTimeCode] = OrderedDict()
        self._redeemed: OrderedDict[str, str] = OrderedDict()
        self._sessions = self._load()

    def offer(self, seconds: float = CODE_SECONDS, *, person: Person | None = None) -> tuple[str, BrowserSession]:
        """Returns a one-time code, and the session that begins when the code is redeemed: of this person, or of the owner."""
        code, session = secrets.token_urlsafe(24), _new_session()
        self._codes[_digest(code)] = _OneTimeCode(session, person, self._clock.monotonic() + seconds)
        while len(self._codes) > MAX_CODES:
            self._codes.popitem(last=False)
        return code, session

    async def redeem(self, code: str) -> BrowserSession | None:
        """Begins the session of this code; None if the code is unknown, expired or used.

        A second use means that somebody else saw the code, so the session that it began ends.
        """
        digest = _digest(code)
        if (begun := self._redeemed.pop(digest, None)) is not None:
            log.warning("a sign-in code was used twice; the session that it began was ended")
            await self._drop(begun)
            return None
        found = self._codes.pop(digest, None)
        if found is None or found.expires < self._clock.monotonic():
            return None
        self._redeemed[digest] = _digest(found.session.cookie)
        while len(self._redeemed) > MAX_CODES:
            self._redeemed.popitem(last=False)
        await self._begin(found.session, found.person)
        return found.session

    async def begin(self, person: Person | None = None) -> BrowserSession:
        """Begins a session for someone who proved to be this person, or the owner, in another way."""
        session = _new_session()
        await self._begin(session, person)
        return session

    def is_open(self, cookie: str, page_key: str) -> bool:
        """Tells whether both belong to one session that has not ended."""
        return self.find(cookie, page_key) is not None

    def find(self, cookie: str, page_key: str) -> StoredSession | None:
        """Returns the session that both belong to; None if there is none, or it has ended."""
        stored = self._sessions.get(_digest(cookie))
        matches = hmac.compare_digest(_digest(page_key), stored.page_key_sha256 if stored else "")
        return stored if matches and stored is not None and not self._is_over(stored) else None

    async def end_all_of(self, person_id: str) -> None:
        """Ends the sessions and the codes of a person who was removed or has a new token."""
        codes = [digest for digest, code in self._codes.items() if code.person and code.person.id == person_id]
        for digest in codes:
            del self._codes[digest]
        for stored in [one for one in self._sessions.values() if one.person_id == person_id]:
            await self._drop(stored.cookie_sha256)

    async def end(self, cookie: str) -> None:
        await self._drop(_digest(cookie))

    async def _begin(self, session: BrowserSession, person: Person | None) -> None:
        stored = StoredSession(
            cookie_sha256=_digest(session.cookie),
            page_key_sha256=_digest(session.page_key),
            created_at=self._clock.now(),
            person_id=person.id if person else None,
            person_mark=_person_mark(person) if person else None,
        )
        self._sessions[stored.cookie_sha256] = stored
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        await self._save()

    async def _drop(self, cookie_sha256: str) -> None:
        if self._sessions.pop(cookie_sha256, None) is not None:
            await self._save()

    def _is_over(self, stored: StoredSession) -> bool:
        age = datetime.fromisoformat(self._clock.now()) - datetime.fromisoformat(stored.created_at)
        return age > timedelta(days=SESSION_DAYS)

    def _load(self) -> OrderedDict[str, StoredSession]:
        """Returns nothing if the file is missing or damaged, or if the token is new: then people sign in again."""
        try:
            found = StoredSessions.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return OrderedDict()
        if not hmac.compare_digest(found.token_mark, self._mark):
            return OrderedDict()
        return OrderedDict((stored.cookie_sha256, stored) for stored in found.sessions)

    async def _save(self) -> None:
        sessions = [stored.model_dump() for stored in self._sessions.values()]
        content = json.dumps({"token_mark": self._mark, "sessions": sessions}).encode()
        try:
            await asyncio.to_thread(write_private_file, self._path, content)
        except StorageFault as error:
            log.warning("browser sessions could not be stored, a restart will ask for the token again: %s", error)


def _person_mark(person: Person) -> str:
    """Returns what a session keeps of the person's token: another token has another mark."""
    return _digest(f"anycowork session of {person.id} {person.token_digest}")


def _new_session() -> BrowserSession:
    return BrowserSession(cookie=secrets.token_urlsafe(32), page_key=secrets.token_urlsafe(32))


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogateescape")).hexdigest()
