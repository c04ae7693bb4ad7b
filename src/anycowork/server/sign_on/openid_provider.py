"""Asks an OpenID provider (OpenID Connect Core, Back-Channel Logout), and believes its tokens only where its keys signed them for us."""

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any  # claims and answers are whatever the provider sent
from urllib.parse import urlencode, urlsplit

from anycowork.config.sections import OpenIdEntry
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import NotAllowed, RequestFault, Unauthenticated
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.domain.visible_text import os_reason

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from jwt import PyJWKSet

ANSWER_SECONDS = 10.0
MAX_ANSWER_BYTES = 1024 * 1024
KEY_SECONDS = 60.0  # so often at most an unknown key makes us ask for the keys again
ADDRESS_SECONDS = 3600.0
LEEWAY_SECONDS = 60
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""All are signatures. With a shared secret, or none, anyone could be anybody."""
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"

Json = dict[str, Any]


class ProviderAway(RequestFault):
    """The provider does not answer, or not as OpenID says. Nothing was decided about the person."""

    code = "sign_on_unavailable"
    status = 502


class SignOnEnded(NotAllowed):
    """The provider renews this sign-on no more."""


@value
class SignedOn:
    """What the provider says of a person. `groups` and `name` are None where a renewal does not repeat them."""

    subject: str
    name: str | None
    groups: frozenset[str] | None
    provider_session: str | None
    refresh_token: str | None
    seconds: float


@value
class LoggedOut:
    subject: str | None
    provider_session: str | None


class OpenIdProvider:
    """One provider, as configured. Its addresses and keys are read when they are needed, and kept for a while."""

    def __init__(self, entry: OpenIdEntry, secret: Callable[[], str | None], clock: Clock) -> None:
        self.entry = entry
        self._secret, self._clock = secret, clock
        self._addresses: tuple[Json, float] | None = None
        self._keys: tuple[PyJWKSet, float] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def address(self, *, return_url: str, state: str, nonce: str, verifier: str) -> str:
        """Returns where a browser signs in. Raises: ProviderAway."""
        query = {
            "response_type": "code",
            "client_id": self.entry.client_id,
            "redirect_uri": return_url,
            "scope": " ".join(self.entry.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
            .rstrip(b"=")
            .decode(),
            "code_challenge_method": "S256",
        }
        authorization = await self._address("authorization_endpoint")
        return f"{authorization}{'&' if '?' in authorization else '?'}{urlencode(query)}"

    async def redeem(self, code: str, *, return_url: str, nonce: str, verifier: str) -> SignedOn:
        """Raises: Unauthenticated, ProviderAway."""
        answer = await self._tokens(
            {"grant_type": "authorization_code", "code": code, "redirect_uri": return_url, "code_verifier": verifier}
        )
        claims = await self._claims(answer.get("id_token"), required=("sub", "nonce"))
        if claims["nonce"] != nonce:
            raise Unauthenticated("The provider's answer belongs to another sign-in. Begin again.")
        return self._signed_on(claims, answer)

    async def renew(self, refresh_token: str, subject: str) -> SignedOn:
        """Raises: SignOnEnded, ProviderAway."""
        try:
            answer = await self._tokens({"grant_type": "refresh_token", "refresh_token": refresh_token})
            if answer.get("id_token") is None:
                return SignedOn(
                    subject, None, None, None, _text(answer, "refresh_token"), _seconds(answer, {}, self._now())
                )
            claims = await self._claims(answer["id_token"], required=("sub",))
        except Unauthenticated as error:
            raise SignOnEnded(error.message) from error
        if claims["sub"] != subject:
            raise SignOnEnded("The provider renewed the sign-on of somebody else.")
        return self._signed_on(claims, answer)

    async def logged_out(self, logout_token: str) -> LoggedOut:
        """Reads whom the provider signed out. Raises: Unauthenticated, ProviderAway."""
        claims = await self._claims(logout_token, required=("events", "jti"))
        events = claims["events"]
        if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
            raise Unauthenticated("This is no logout token.")
        logged_out = LoggedOut(_text(claims, "sub"), _text(claims, "sid"))
        if logged_out.subject is None and logged_out.provider_session is None:
            raise Unauthenticated("This logout token names nobody.")
        return logged_out

    def _signed_on(self, claims: Json, answer: Json) -> SignedOn:
        name = next((text for key in ("name", "preferred_username", "email") if (text := _text(claims, key))), None)
        groups = claims.get(self.entry.groups_claim, [])
        listed = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        return SignedOn(
            subject=claims["sub"],
            name=name,
            groups=frozenset(group for group in listed if isinstance(group, str)),
            provider_session=_text(claims, "sid"),
            refresh_token=_text(answer, "refresh_token"),
            seconds=_seconds(answer, claims, self._now()),
        )

    async def _claims(self, token: object, *, required: tuple[str, ...]) -> Json:
        """Returns what a token says that the provider signed for us, now. Raises: Unauthenticated, ProviderAway."""
        import jwt  # only where people sign on this way: it takes time and memory

        if not isinstance(token, str) or len(token) > MAX_ANSWER_BYTES:
            raise ProviderAway(f"{self.entry.name} sent no token that says who signed in.")
        try:
            key = await self._key(jwt.get_unverified_header(token).get("kid"))
            claims: Json = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.entry.client_id,
                issuer=self.entry.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["iss", "aud", "exp", "iat", *required]},
            )
        except (jwt.PyJWTError, ValueError) as error:
            raise Unauthenticated(f"The token that came from {self.entry.name} does not hold: {error}.") from error
        audience, party = claims["aud"], claims.get("azp", self.entry.client_id)
        if party != self.entry.client_id or (isinstance(audience, list) and len(audience) > 1 and "azp" not in claims):
            raise Unauthenticated(f"The token that came from {self.entry.name} is meant for another program.")
        if any(_text(claims, name) is None for name in required if name != "events"):
            raise Unauthenticated(
                f"The token that came from {self.entry.name} has claims of another type than OpenID says."
            )
        return claims

    async def _key(self, key_id: object) -> Any:
        """Returns the provider's key of this id; without an id, its only one. Raises: Unauthenticated, ProviderAway."""
        keys = await self._key_set(refresh=False)
        key = _find_key(keys, key_id)
        if key is None:
            key = _find_key(await self._key_set(refresh=True), key_id)
        if key is None:
            raise Unauthenticated(f"No key of {self.entry.name} signed this token.")
        return key

    async def _key_set(self, *, refresh: bool) -> "PyJWKSet":
        from jwt import PyJWKSet, PyJWTError

        async with self._one_at_a_time:
            age = self._now() - self._keys[1] if self._keys else None
            if (
                self._keys is None
                or (refresh and age is not None and age > KEY_SECONDS)
                or (age or 0) > ADDRESS_SECONDS
            ):
                answer = await self._read("GET", await self._address("jwks_uri"))
                try:
                    self._keys = PyJWKSet.from_dict(answer), self._now()
                except (PyJWTError, ValueError, KeyError, AttributeError, TypeError) as error:
                    raise ProviderAway(f"The keys of {self.entry.name} cannot be read: {error}.") from error
            return self._keys[0]

    async def _address(self, name: str) -> str:
        """Returns an address that the provider announces. Raises: ProviderAway."""
        if self._addresses is None or self._now() - self._addresses[1] > ADDRESS_SECONDS:
            announced = await self._read("GET", f"{self.entry.issuer.rstrip('/')}/.well-known/openid-configuration")
            if announced.get("issuer") != self.entry.issuer:
                raise ProviderAway(f"{self.entry.issuer} announces itself as another issuer.")
            self._addresses = announced, self._now()
        address = self._addresses[0].get(name)
        encrypted = urlsplit(self.entry.issuer).scheme == "https"
        if not isinstance(address, str) or urlsplit(address).scheme not in (
            ("https",) if encrypted else ("https", "http")
        ):
            raise ProviderAway(f"{self.entry.name} announces no {name} that may be used.")
        return address

    async def _tokens(self, form: Mapping[str, str]) -> Json:
        """Raises: Unauthenticated if the provider refuses; ProviderAway."""
        secret = self._secret()
        credentials = {"client_id": self.entry.client_id, **({"client_secret": secret} if secret else {})}
        return await self._read("POST", await self._address("token_endpoint"), {**form, **credentials})

    async def _read(self, method: str, address: str, form: Mapping[str, str] | None = None) -> Json:
        import aiohttp  # only where people sign on this way: it takes time and memory

        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS), trust_env=True) as session,
                session.request(method, address, data=form, allow_redirects=False) as response,
            ):
                content = await _bounded(response)
                answer = read_json(content)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise ProviderAway(
                f"{self.entry.name} did not answer as an OpenID provider does: {os_reason(error)}."
            ) from error
        if form is not None and response.status in (400, 401) and isinstance(answer, dict) and answer.get("error"):
            raise Unauthenticated(f"{self.entry.name} refuses: {str(answer['error'])[:100]}.")
        if response.status != 200 or not isinstance(answer, dict):
            raise ProviderAway(f"{self.entry.name} answered with status {response.status}.")
        return answer

    def _now(self) -> float:
        return self._clock.monotonic()


async def _bounded(response: "ClientResponse") -> bytes:
    content = await response.content.read(MAX_ANSWER_BYTES + 1)
    while len(content) <= MAX_ANSWER_BYTES and (piece := await response.content.read(MAX_ANSWER_BYTES)):
        content += piece
    if len(content) > MAX_ANSWER_BYTES:
        raise ValueError("its answer is too large")
    return content


def _find_key(keys: "PyJWKSet", key_id: object) -> Any:
    if key_id is None:
        return keys.keys[0] if len(keys.keys) == 1 else None
    return next((key for key in keys.keys if key.key_id == key_id), None)


def _text(values: Json, name: str) -> str | None:
    text = values.get(name)
    return text if isinstance(text, str) and text else None


def _seconds(answer: Json, claims: Json, now: float) -> float:
    """Returns how long the sign-on holds without being renewed."""
    seconds = answer.get("expires_in")
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 < seconds < 10**9:
        return float(seconds)
    if isinstance(claims.get("exp"), (int, float)) and isinstance(claims.get("iat"), (int, float)):
        return max(0.0, float(claims["exp"]) - float(claims["iat"]))
    return 300.0
