"""Authenticates requests: by a person's token, a client key, or a browser's cookie and page key. Every request behind it has a Principal.

The cookie alone opens nothing: browsers send it to every port of this host. See docs/adr/0052.
Host and origin are checked first, so that a forged request learns nothing. Each route states what a principal may do.
"""

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Annotated, Any, NoReturn
from urllib.parse import parse_qs

from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ConnectionScope

from anycowork.api.asgi import header, send_bytes
from anycowork.api.middleware.allowed_hosts import AllowedHosts
from anycowork.chats.people_service import person_token_digest
from anycowork.domain.errors import NotAllowed, Unauthenticated
from anycowork.domain.job_workers import JoinedWorker
from anycowork.domain.people import PERSON_TOKEN_PREFIX, Person
from anycowork.domain.ports import Clock
from anycowork.domain.principals import (
    EDITOR_HEADER,
    JOINED_WORKER,
    MCP_HOST_HEADER,
    OWNER,
    Principal,
    PrincipalKind,
    Scope,
    acp_client,
    mcp_host,
    person_principal,
)
from anycowork.domain.values import mutable_value, replace
from anycowork.server.browser_sessions import BrowserSessions, StoredSession
from anycowork.server.sign_on.sign_on_service import CALLBACK
from anycowork.store.sql.people import People
from anycowork.store.sql.principals import ClientKeys

CLIENT_KEY_PREFIX = "sk-ac-"
PERSON = (
    "person"  # in the scope: the Person, as stored, whose token or session the request came with; absent for the owner
)
LET_IN_AGAIN = "let_in_again"  # in the scope: authenticates once more, for a request that took its time to arrive
OPEN_SESSION = "open_session"  # in the scope: the browser's session that the request came with; absent with a token
MCP_SIGN_IN = "/mcp/sign-in"
"""Where a browser comes back from an MCP server's log-in. It is sent there by another site, so it can bring nothing of ours."""
OPENID_SIGN_IN, OPENID_CALLBACK, OPENID_LOGOUT = "/openid/sign-in", CALLBACK, "/openid/logout"
_OPEN = frozenset(
    {
        *("/", "/healthz", "/readyz", MCP_SIGN_IN, "/workers/join"),  # who joins brings a token in the body
        *("/openid", OPENID_SIGN_IN, OPENID_CALLBACK, OPENID_LOGOUT),  # the provider's signature says who it is
    }
)
WORKER_RUNS = "/worker-runs/"
WORKER = "joined_worker"  # in the scope: the worker whose secret the request came with
_ASSETS = "/assets/"
_TRIGGER = re.compile(r"/triggers/[^/]+")
AFTER_WRONG_SIGNATURE = "after_wrong_signature"  # in the scope of a signed request: waits, as after a wrong token
PASSTHROUGH_PATHS = frozenset({"/v1/models", "/v1/chat/completions", "/v1/responses", "/v1/embeddings"})
"""All that a client key reaches, and each of the models by its name. What else lies under /v1 is for people."""
ONE_MODEL = "/v1/models/"
SESSION = "/session"
_COOKIE_SECONDS = 180 * 24 * 3600
PAGE_KEY_HEADER = b"x-anycowork-page-key"
_EDITOR_HEADER = EDITOR_HEADER.lower().encode()
_MCP_HOST_HEADER = MCP_HOST_HEADER.lower().encode()


def new_client_key() -> str:
    return CLIENT_KEY_PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str) -> str:
    """Returns the digest that is stored for a client key. Keys are long and random, so a plain digest is enough."""
    return hashlib.sha256(key.encode()).hexdigest()


class Credentials:
    """Checks tokens and client keys. Only digests are kept, and they are compared in constant time."""

    def __init__(self, token: str, keys: ClientKeys, people: People) -> None:
        self._digest = _digest(token)
        self._keys = keys
        self._people = people

    def is_token(self, word: str) -> bool:
        return hmac.compare_digest(_digest(word), self._digest)

    async def holder(self, bearer: str) -> Principal | Person | None:
        if self.is_token(bearer):
            return OWNER
        if bearer.startswith(CLIENT_KEY_PREFIX):
            return await self._keys.find(key_hash(bearer))
        return await self._person(person_token_digest(bearer)) if bearer.startswith(PERSON_TOKEN_PREFIX) else None

    async def _person(self, digest: str) -> Person | None:
        person = await self._people.holder(digest)
        return person if person is not None and hmac.compare_digest(person.token_digest or "", digest) else None

    async def in_session(self, session: StoredSession | None) -> Principal | Person | None:
        """Returns whose session it is; None if that person was removed or has another token now."""
        if session is None:
            return None
        if session.person_id is None:
            return OWNER
        person = await self._people.find(session.person_id)
        return person if person is not None and session.is_of(person) else None


Sleep = Callable[[float], Awaitable[None]]
SHORTEST_SECONDS, LONGEST_SECONDS, FORGOTTEN_SECONDS = 0.1, 2.0, 60.0


@mutable_value
class _Tries:
    wrong: int
    last: float


class AuthThrottle:
    """Delays double from the shortest to the longest; a peer without failures for a while starts again.

    A right token in between changes nothing: on one machine the guesser and the owner are the same peer.
    """

    def __init__(
        self,
        clock: Clock,
        sleep: Sleep,
        *,
        peers: int = 1024,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._peers = peers
        self._tries: OrderedDict[str, _Tries] = OrderedDict()

    async def after_wrong(self, peer: str) -> None:
        """Counts the failure at once, so that parallel attempts gain nothing; then waits."""
        await self._sleep(self._count(peer))

    def _count(self, peer: str) -> float:
        now = self._clock.monotonic()
        tries = self._tries.pop(peer, None)
        if tries is None or now - tries.last > FORGOTTEN_SECONDS:
            tries = _Tries(wrong=0, last=now)
        tries.wrong, tries.last = tries.wrong + 1, now
        self._tries[peer] = tries
        while len(self._tries) > self._peers:
            self._tries.popitem(last=False)
        return float(min(LONGEST_SECONDS, SHORTEST_SECONDS * 2 ** min(tries.wrong - 1, 30)))


class AuthMiddleware:
    """Authenticates requests: puts the Principal into the scope, or refuses the request."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        credentials: Credentials,
        sessions: BrowserSessions,
        allowed_hosts: Callable[[], AllowedHosts],
        slowdown: AuthThrottle,
        worker_of: Callable[[str | None], Awaitable[JoinedWorker]],
    ) -> None:
        """`worker_of` returns the joined worker with this secret. Raises: Unauthenticated."""
        self._app = app
        self._worker_of = worker_of
        self._credentials, self._sessions = credentials, sessions
        self._allowed_hosts, self._slowdown = allowed_hosts, slowdown

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        open_to_all = scope["path"] in _OPEN or _is_asset(scope) or is_signed_request(scope)
        cookie = cookie_in(scope, self._sessions.cookie_name)
        if _is_asset(scope):
            self._allowed_hosts().check_host(scope)
        else:
            self._allowed_hosts().check(scope, by_cookie=cookie is not None and not open_to_all)
        if scope["path"] == "/" and scope["method"] == "GET" and (token := _query_token(scope)) is not None:
            await self._welcome(token, scope, send)
            return
        if is_signed_request(scope):
            scope[AFTER_WRONG_SIGNATURE] = partial(self._slowdown.after_wrong, _peer(scope))
        if not open_to_all and not _brings_a_code(scope):
            await self._let_in(scope, cookie)
            scope[LET_IN_AGAIN] = partial(self._let_in, scope, cookie)
        await self._app(scope, receive, send)

    async def _let_in(self, scope: ConnectionScope, cookie: str | None) -> None:
        """Puts into the scope who asks, as they are now. Raises: Unauthenticated, NotAllowed."""
        if scope["path"].startswith(WORKER_RUNS):
            scope[WORKER] = await self._worker_of(_bearer(scope))
            scope["principal"] = JOINED_WORKER
        else:
            scope["principal"] = await self._identify(scope, cookie)

    async def _welcome(self, token: str, scope: ConnectionScope, send: Send) -> None:
        """Trades the token in the address for a cookie and a one-time code, and takes it out of the address bar.

        The code stands in the fragment, which browsers send to no server. The page trades it for its page key.
        """
        scope["query_string"] = b""  # The server logs this very dictionary: the token must not be in it any more.
        if not self._credentials.is_token(token):
            await self._refuse(scope)
        offered = self._sessions.offer(needs_confirmation=False)  # whoever asks has the token
        cookie = session_cookie(self._sessions.cookie_name, offered.session.cookie, scope)
        headers = [(b"location", f"/#code={offered.code}".encode()), (b"set-cookie", cookie.encode())]
        await send_bytes(send, 303, b"", content_type=b"text/plain", headers=headers)

    async def _identify(self, scope: ConnectionScope, cookie: str | None) -> Principal:
        bearer = _bearer(scope)
        if bearer is not None:
            holder = await self._credentials.holder(bearer)
        else:
            holder = await self._by_session(scope, cookie)
        if holder is None:
            await self._refuse(scope, bearer)
        if isinstance(holder, Person):
            scope[PERSON] = holder
        person = person_principal(holder) if isinstance(holder, Person) else holder
        if (session := session_in(scope)) is not None and not session.is_confirmed:
            person = replace(person, is_confirmed=False)
        principal = _narrowed(scope, person)
        _keep_to_passthrough(principal, scope["path"])
        return principal

    async def _by_session(self, scope: ConnectionScope, cookie: str | None) -> Principal | Person | None:
        """Raises: Unauthenticated if the browser brings no cookie, or no page key with it."""
        page_key = header(scope, PAGE_KEY_HEADER)
        if cookie is None or page_key is None:
            raise Unauthenticated(
                "This needs the server's token: send 'Authorization: Bearer <token>'. In a browser, open this server's page and "
                "sign in; its cookie alone opens nothing."
            )
        session = scope[OPEN_SESSION] = self._sessions.find(cookie, page_key)
        return await self._credentials.in_session(session)

    async def _refuse(self, scope: ConnectionScope, bearer: str | None = None) -> NoReturn:
        await self._slowdown.after_wrong(_peer(scope))
        if bearer is not None and bearer.startswith(PERSON_TOKEN_PREFIX):
            raise Unauthenticated(
                "This person's token is wrong, was replaced, or belongs to someone who was removed. An admin makes a new one with "
                "'anycowork people token NAME'."
            )
        raise Unauthenticated(
            "This token is wrong. The right one is in the server's data folder; 'anycowork doctor' shows where."
        )


def session_cookie(name: str, value: str, scope: ConnectionScope) -> str:
    """Returns a cookie that lasts as long as a session."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_COOKIE_SECONDS}{secure}"


def expired_cookie(name: str, scope: ConnectionScope) -> str:
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return f"{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{secure}"


def _brings_a_code(scope: ConnectionScope) -> bool:
    """Whether the request signs in without the token: the route itself requires a one-time code."""
    return bool(scope["path"] == SESSION and scope["method"] == "POST" and header(scope, b"authorization") is None)


def is_signed_request(scope: ConnectionScope) -> bool:
    """Whether the request starts a trigger: its signature is all that counts, and the route itself checks it."""
    return scope["method"] == "POST" and _TRIGGER.fullmatch(scope["path"]) is not None


def _is_asset(scope: ConnectionScope) -> bool:
    """The same public bytes for everyone: no cookie counts, and the frame that draws diagrams, which has no origin, reads its script."""
    return bool(scope["path"].startswith(_ASSETS) and scope["method"] in ("GET", "HEAD"))


def _narrowed(scope: ConnectionScope, principal: Principal) -> Principal:
    """The person, or the program that the person's request names. A header only ever takes scopes away; with both, the fewest are left."""
    if principal.kind is not PrincipalKind.PERSON:
        return principal
    if (host := header(scope, _MCP_HOST_HEADER)) is not None:
        return mcp_host(host, principal)
    editor = header(scope, _EDITOR_HEADER)
    return acp_client(editor, principal) if editor is not None else principal


def _keep_to_passthrough(principal: Principal, path: str) -> None:
    is_passthrough = path in PASSTHROUGH_PATHS or path.startswith(ONE_MODEL)
    if principal.kind is PrincipalKind.CLIENT_KEY and not is_passthrough:
        raise NotAllowed(
            f"The client key '{principal.name}' reaches {', '.join(sorted(PASSTHROUGH_PATHS))} only, "
            f"and this is {path[:100]}. {_way_out(path)}"
        )


def _way_out(path: str) -> str:
    """Suggest a fix for a base URL without /v1, or with two of them."""
    corrected = "/".join(["", "v1", *(word for word in path.split("/") if word not in ("", "v1"))])
    if corrected in PASSTHROUGH_PATHS:
        return "Make the program's base URL end with /v1."
    return "Other paths need the server's token."


# --- scopes that routes require


def needs(
    scope: Scope,
) -> Callable[[Request], Coroutine[Any, Any, Principal]]:  # Any: what a coroutine yields is asyncio's affair
    """Returns a dependency that provides the Principal, and refuses one without the scope."""

    async def principal_of(request: Request) -> Principal:
        return principal_in(request.scope, scope)

    return principal_of


def principal_in(scope_values: ConnectionScope, scope: Scope) -> Principal:
    """Raises: Unauthenticated; NotAllowed if the principal lacks this scope."""
    principal = scope_values.get("principal")
    if not isinstance(principal, Principal):
        raise Unauthenticated("This needs the server's token.")
    principal.require(scope)
    return principal


def session_in(scope_values: ConnectionScope) -> StoredSession | None:
    """Returns the browser's session that the request came with; None with a token."""
    session: StoredSession | None = scope_values.get(OPEN_SESSION)
    return session


def maker_in(scope_values: ConnectionScope, sessions: BrowserSessions) -> str | None:
    """Returns the node that what this request makes belongs to; None if it ends with nothing."""
    if (session := session_in(scope_values)) is not None:
        return session.node
    person = scope_values.get(PERSON)
    return sessions.maker_of(person) if isinstance(person, Person) else None


def person_in(scope_values: ConnectionScope) -> Person | None:
    """Returns the person whose token or session came with the request; None for the owner. Raises: Unauthenticated; NotAllowed for a
    program."""
    principal = principal_in(scope_values, Scope.READ)
    if principal.kind is not PrincipalKind.PERSON:
        raise NotAllowed(f"{principal.name} may not sign in or out. Only a person may, with their own token.")
    person = scope_values.get(PERSON)
    return person if isinstance(person, Person) else None


Reader = Annotated[Principal, Depends(needs(Scope.READ))]
Sender = Annotated[Principal, Depends(needs(Scope.SEND))]
Decider = Annotated[Principal, Depends(needs(Scope.DECIDE))]
Manager = Annotated[Principal, Depends(needs(Scope.MANAGE))]


# --- reading the request


def _digest(word: str) -> bytes:
    return hashlib.sha256(word.encode("utf-8", "surrogateescape")).digest()


def _bearer(scope: ConnectionScope) -> str | None:
    kind, _, word = (header(scope, b"authorization") or "").partition(" ")
    return word.strip() if kind.lower() == "bearer" else None


def cookie_in(scope: ConnectionScope, name: str) -> str | None:
    """Parses cookies without `http.cookies`, which stops at the first invalid one: other servers on this host may set any cookie."""
    for pair in (header(scope, b"cookie") or "").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return None


def _query_token(scope: ConnectionScope) -> str | None:
    return next(iter(parse_qs(scope["query_string"].decode("latin-1")).get("token", ())), None)


def _peer(scope: ConnectionScope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "unknown"
