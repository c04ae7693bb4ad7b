"""Signs people on with an OpenID provider: who they are, what their groups allow, and the end of their sessions with the provider's."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from anycowork.config.sections import GroupAccess
from anycowork.domain.errors import AnyCoworkError, Conflict, Invalid, NotAllowed, Unauthenticated
from anycowork.domain.limits import read_group_name
from anycowork.domain.people import LONGEST_PERSON_NAME, AccessLevel, Person, read_person_name
from anycowork.domain.ports import Clock
from anycowork.domain.principals import SERVER_PRINCIPAL
from anycowork.domain.values import value
from anycowork.server.browser_sessions import BrowserSessions, SignOn, StoredSession
from anycowork.server.sign_on.openid_provider import LoggedOut, OpenIdProvider, ProviderAway, SignedOn
from anycowork.store.sql.people import People

log = logging.getLogger("anycowork.sign_on")

CALLBACK = "/openid/callback"
SIGN_IN_SECONDS = 600  # how long a browser may stay at the provider
RENEWED_AT_LEAST_EVERY = 900.0
WITHOUT_PROVIDER = 900.0  # how long a session outlives a renewal that the provider did not answer
LOOKS_EVERY = 30.0
_AT_ONCE = 8
_NAMESAKES = 20


class PendingSignIn(BaseModel):
    """What the browser keeps while it is at the provider, signed by us."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    state: str
    nonce: str
    verifier: str
    until: str


@value
class BegunSignIn:
    """`address` is where the browser goes, `pending` what it brings back in a cookie."""

    address: str
    pending: str


class SignOnService:
    """Belongs to one event loop. A person of the provider is known by issuer and subject alone: a name or an address proves nothing."""

    def __init__(
        self,
        provider: OpenIdProvider,
        people: People,
        sessions: BrowserSessions,
        clock: Clock,
        token: str,
        page_url: Callable[[], str | None],
    ) -> None:
        """`page_url` is the address under which browsers reach this server, if it is another one than they asked for."""
        self._page_url = page_url
        self._provider, self._people, self._sessions, self._clock = provider, people, sessions, clock
        self._one_person_at_a_time = asyncio.Lock()
        self._ends: list[list[LoggedOut]] = []  # for each sign-in that is just being finished, who signed out meanwhile
        self._key = hmac.new(token.encode(), b"anycowork pending sign-ins", hashlib.sha256).digest()

    @property
    def name(self) -> str:
        return self._provider.entry.name

    @property
    def cookie_name(self) -> str:
        return f"{self._sessions.cookie_name}_sign_in"

    def return_url(self, base_url: str) -> str:
        return (self._page_url() or base_url).rstrip("/") + CALLBACK

    def sets_secure_cookies(self, base_url: str) -> bool:
        return urlsplit(self.return_url(base_url)).scheme == "https"

    async def begin(self, base_url: str) -> BegunSignIn:
        """Raises: ProviderAway."""
        pending = PendingSignIn(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            until=self._after(SIGN_IN_SECONDS),
        )
        address = await self._provider.address(
            return_url=self.return_url(base_url), state=pending.state, nonce=pending.nonce, verifier=pending.verifier
        )
        return BegunSignIn(address, self._sealed(pending))

    async def finish(self, base_url: str, *, code: str | None, state: str | None, cookie: str | None) -> str:
        """Returns the one-time code that signs this browser in. Raises: Unauthenticated, NotAllowed, ProviderAway."""
        pending = self._opened(cookie)
        if pending is None or state is None or not hmac.compare_digest(pending.state.encode(), state.encode()):
            raise Unauthenticated("This sign-in was not begun in this browser, or its time is over. Begin again.")
        if code is None:
            raise Unauthenticated(f"{self.name} did not sign you in. Begin again.")
        with self._noting_ends() as ends:
            signed_on = await self._provider.redeem(
                code, return_url=self.return_url(base_url), nonce=pending.nonce, verifier=pending.verifier
            )
            person = await self._person_of(signed_on)
        sign_on = self._sign_on(signed_on, None)
        if any(_ends(logged_out, sign_on) for logged_out in ends):
            raise Unauthenticated(f"You signed out at {self.name} meanwhile. Begin again.")
        return self._sessions.offer(person=person, needs_confirmation=False, sign_on=sign_on).code

    async def end_by_provider(self, logout_token: str) -> None:
        """Ends the sessions that the provider ended, and those that are just beginning. Raises: Unauthenticated, ProviderAway."""
        logged_out = await self._provider.logged_out(logout_token)
        for ends in self._ends:
            ends.append(logged_out)
        await self._sessions.end_sign_ons(partial(_ends, logged_out))

    @contextmanager
    def _noting_ends(self) -> Iterator[list[LoggedOut]]:
        """Yields a list of those who sign out at the provider until the end of the block."""
        ends: list[LoggedOut] = []
        self._ends.append(ends)
        try:
            yield ends
        finally:
            self._ends = [other for other in self._ends if other is not ends]

    async def keep_up(self) -> None:
        """Renews sign-ons, and ends those that are not renewed, until it is cancelled."""
        while True:
            await self.renew_due()
            await asyncio.sleep(LOOKS_EVERY)

    async def renew_due(self) -> None:
        now, at_once = self._clock.now(), asyncio.Semaphore(_AT_ONCE)

        async def renewed(stored: StoredSession) -> None:
            async with at_once:
                try:
                    await self._renew(stored)
                except (AnyCoworkError, OSError) as error:
                    log.warning("a sign-on could not be renewed and is tried again: %s", error)

        async with asyncio.TaskGroup() as tasks:
            for stored in self._sessions.signed_on():
                if stored.sign_on is not None and stored.sign_on.renew_at <= now:
                    tasks.create_task(renewed(stored))

    async def _renew(self, stored: StoredSession) -> None:
        sign_on = stored.sign_on
        if sign_on is None:
            return
        if sign_on.until <= self._clock.now():
            await self._sessions.end(stored.node)
            return
        if sign_on.refresh_token is None:
            return  # it ends at `until`
        try:
            signed_on = await self._provider.renew(sign_on.refresh_token, sign_on.subject)
            await self._person_of(signed_on)
        except ProviderAway as error:
            log.warning("a sign-on is not renewed now: %s", error)
        except NotAllowed as ended:
            log.info("a session ended with its sign-on: %s", ended)
            await self._sessions.end(stored.node)
        else:
            await self._sessions.renew(stored.node, self._sign_on(signed_on, sign_on))

    async def _person_of(self, signed_on: SignedOn) -> Person:
        """Returns the person with the access of their groups now; adds who comes for the first time. Raises: NotAllowed, Conflict."""
        async with self._one_person_at_a_time:
            return await self._let_in(signed_on)

    async def _let_in(self, signed_on: SignedOn) -> Person:
        person_id = self._person_id(signed_on.subject)
        person = next((person for person in await self._people.all() if person.id == person_id), None)
        if person is not None and person.removed_at is not None:
            raise NotAllowed("An admin removed you from this server.")
        if signed_on.groups is None and person is not None:
            return person
        access = access_of(self._provider.entry.access, signed_on.groups or frozenset())
        if access is None:
            await self._let_go(person)
            raise NotAllowed(f"None of your groups at {self.name} may use this server. Ask its admin.")
        groups = usable_groups(signed_on.groups or frozenset())
        if person is None:
            return await self._added(person_id, signed_on.name, access, groups)
        if (person.access, person.groups) == (access, groups):
            return person
        return await self._people.change(person.id, by=SERVER_PRINCIPAL.label(), access=access, groups=groups)

    async def _let_go(self, person: Person | None) -> None:
        """Takes away what the groups no longer give. The person stays known, and comes back with a group."""
        if person is not None:
            await self._people.change(person.id, by=SERVER_PRINCIPAL.label(), access=AccessLevel.VIEWER)
            await self._sessions.end_all_of(person.id)

    async def _added(self, person_id: str, name: str | None, access: AccessLevel, groups: tuple[str, ...]) -> Person:
        """Raises: Conflict if too many are named like this one."""
        own_name = usable_name(name) or f"Person {person_id[:6]}"
        for number in range(1, _NAMESAKES + 1):
            unique = own_name if number == 1 else f"{own_name[: LONGEST_PERSON_NAME - 3]} {number}"
            person = Person(person_id, unique, access, self._clock.now(), groups=groups)
            try:
                await self._people.add(person, by=SERVER_PRINCIPAL.label())
            except Conflict:
                continue
            return person
        raise Conflict(f"Too many people here are named like '{own_name}'.")

    def _person_id(self, subject: str) -> str:
        return hashlib.sha256(json.dumps([self._provider.entry.issuer, subject]).encode()).hexdigest()[:32]

    def _sign_on(self, signed_on: SignedOn, before: SignOn | None) -> SignOn:
        """What the session keeps. Without a way to renew it, it holds as long as the provider said."""
        refresh_token = signed_on.refresh_token or (before.refresh_token if before else None)
        renewal = min(signed_on.seconds, RENEWED_AT_LEAST_EVERY) if refresh_token else signed_on.seconds
        return SignOn(
            subject=signed_on.subject,
            provider_session=signed_on.provider_session or (before.provider_session if before else None),
            refresh_token=refresh_token,
            renew_at=self._after(renewal),
            until=self._after(renewal + (WITHOUT_PROVIDER if refresh_token else 0)),
        )

    def _after(self, seconds: float) -> str:
        moment = datetime.fromisoformat(self._clock.now()) + timedelta(seconds=seconds)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _sealed(self, pending: PendingSignIn) -> str:
        body = base64.urlsafe_b64encode(pending.model_dump_json().encode()).decode().rstrip("=")  # else some quote it
        return f"{body}.{self._signature(body)}"

    def _opened(self, cookie: str | None) -> PendingSignIn | None:
        body, _, signature = (cookie or "").partition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), self._signature(body).encode()):
            return None
        try:
            pending = PendingSignIn.model_validate_json(base64.urlsafe_b64decode(f"{body}=="))
        except (ValidationError, ValueError):
            return None
        return pending if pending.until > self._clock.now() else None

    def _signature(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _ends(logged_out: LoggedOut, sign_on: SignOn) -> bool:
    return logged_out.subject in (None, sign_on.subject) and logged_out.provider_session in (
        None,
        sign_on.provider_session,
    )


def access_of(granted: GroupAccess, groups: frozenset[str]) -> AccessLevel | None:
    """Returns the most that one of these groups gives; None if none gives any."""
    for level, level_groups in (
        (AccessLevel.ADMIN, granted.admin),
        (AccessLevel.MEMBER, granted.member),
        (AccessLevel.VIEWER, granted.viewer),
    ):
        if groups.intersection(level_groups):
            return level
    return AccessLevel(granted.everyone) if granted.everyone else None


def usable_name(name: str | None) -> str | None:
    """Returns the name without signs that a person's name may not have; None if nothing usable is left."""
    plain = "".join(sign if sign.isalnum() or sign in " -.'’" else " " for sign in (name or "").partition("@")[0])
    try:
        return read_person_name(" ".join(plain.split())[:LONGEST_PERSON_NAME])
    except Invalid:
        return None


def usable_groups(names: frozenset[str]) -> tuple[str, ...]:
    """Returns the groups of the provider whose names can be used here. Those above a group stay in its name: others have groups of its name, too."""
    groups = set()
    for name in names:
        with suppress(Invalid):
            groups.add(read_group_name(name.removeprefix("/")))
    return tuple(sorted(groups))
