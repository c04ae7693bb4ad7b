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
    """What the file keeps of one session: its start, and the digests of its two secrets."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    cookie_sha256: str
    page_key_sha256: str
    created_at: str


class StoredSessions(BaseModel):
    """`token_mark` identifies the server token under which the sessions began. A new token ends them all."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    token_mark: str
    sessions: list[StoredSession]


@value
class _OneTimeCode:
    session: BrowserSession
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

    def offer(self, seconds: float = CODE_SECONDS) -> tuple[str, BrowserSession]:
        """Returns a one-time code, and the session that begins when the code is redeemed."""
        code, session = secrets.token_urlsafe(24), _new_session()
        self._codes[_digest(code)] = _OneTimeCode(session, self._clock.monotonic() + seconds)
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
        await self._begin(found.session)
        return found.session

    async def begin(self) -> BrowserSession:
        """Begins a session for someone who proved to be the owner in another way."""
        session = _new_session()
        await self._begin(session)
        return session

    def is_open(self, cookie: str, page_key: str) -> bool:
        """Tells whether both belong to one session that has not ended."""
        stored = self._sessions.get(_digest(cookie))
        matches = hmac.compare_digest(_digest(page_key), stored.page_key_sha256 if stored else "")
        return matches and stored is not None and not self._is_over(stored)

    async def end(self, cookie: str) -> None:
        await self._drop(_digest(cookie))

    async def _begin(self, session: BrowserSession) -> None:
        stored = StoredSession(
            cookie_sha256=_digest(session.cookie),
            page_key_sha256=_digest(session.page_key),
            created_at=self._clock.now(),
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


def _new_session() -> BrowserSession:
    return BrowserSession(cookie=secrets.token_urlsafe(32), page_key=secrets.token_urlsafe(32))


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "surrogateescape")).hexdigest()
