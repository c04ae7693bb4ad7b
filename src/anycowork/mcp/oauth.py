"""Signing in to remote servers: OAuth's authorization code with PKCE, done by the SDK. A person starts it and logs in with a browser.

Without that no server makes us talk to an authorization server: an answer "401" is only an error that says how to sign in.
Tokens belong to the origin that they were given for, and are sent nowhere else.
"""

import asyncio
import hmac
import time
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs, urlsplit

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.mcp.stdio_transport import McpFailed

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider

SIGN_IN_SECONDS = 600.0
ADDRESS_SECONDS = 60.0
LONGEST_ANSWER = 4_000


class SignInNeeded(McpFailed):
    """A server wants somebody to log in."""

    code = "mcp_sign_in_needed"


class TokenStore(Protocol):
    """Keeps what a sign-in brought, by server and origin, where only the owner can read it."""

    def find(self, server: str, url: str) -> Json | None: ...
    async def put(self, server: str, url: str, credentials: Json) -> None:
        """Raises: StorageFault."""

    async def remove(self, server: str) -> None:
        """Raises: StorageFault."""


class ServerSignIn:
    """One attempt of a person to sign in. `redirect_uri` is our own address that the browser comes back to."""

    def __init__(self, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri
        loop = asyncio.get_running_loop()
        self._address: asyncio.Future[str] = loop.create_future()
        self._answer: asyncio.Future[dict[str, str]] = loop.create_future()

    async def address(self) -> str:
        """The page to log in at. Raises: TimeoutError."""
        async with asyncio.timeout(ADDRESS_SECONDS):
            return await asyncio.shield(self._address)

    def take(self, answer: dict[str, str]) -> bool:
        """Whether this answer of a browser belongs to this attempt; it is taken once."""
        if not self._address.done() or self._answer.done():
            return False
        (expected,) = parse_qs(urlsplit(self._address.result()).query).get("state") or [""]
        if not expected or not hmac.compare_digest(expected.encode(), answer.get("state", "").encode()):
            return False
        self._answer.set_result(answer)
        return True

    async def redirect(self, url: str) -> None:
        """Called by the SDK. Raises: Invalid."""
        if urlsplit(url).scheme not in ("http", "https") or len(url) > LONGEST_ANSWER:
            raise Invalid("its authorization server names an address that no browser should open")
        if not self._address.done():
            self._address.set_result(url)

    async def callback(self) -> Any:
        """Called by the SDK. Raises: McpFailed."""
        from mcp.shared.auth import AuthorizationCodeResult

        try:
            async with asyncio.timeout(SIGN_IN_SECONDS):
                answer = await self._answer
        except TimeoutError:
            raise SignInNeeded("nobody logged in within 10 minutes; sign in again") from None
        if "code" not in answer:
            raise SignInNeeded(f"the sign-in was refused ({answer.get('error', 'no reason given')[:100]})")
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))


def oauth_provider(
    server: str, url: str, tokens: TokenStore, sign_in: ServerSignIn | None
) -> "OAuthClientProvider | None":
    """What authenticates requests to this server; None if nobody has signed in, and nobody is about to."""
    credentials = tokens.find(server, url)
    if credentials is None and sign_in is None:
        return None
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata

    storage = _Storage(server, url, tokens, {} if sign_in else dict(credentials or {}))
    redirect = sign_in.redirect_uri if sign_in else str(storage.kept.get("redirect_uri"))
    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "AnyCowork",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
    )
    provider = OAuthClientProvider(
        url,
        metadata,
        storage,
        redirect_handler=sign_in.redirect if sign_in else _nobody,
        callback_handler=sign_in.callback if sign_in else None,
    )
    storage.provider = provider
    if isinstance(expires := storage.kept.get("expires_at"), int | float):
        provider.context.token_expiry_time = expires
    if isinstance(stored_metadata := storage.kept.get("metadata"), dict):
        provider.context.oauth_metadata = OAuthMetadata.model_validate(stored_metadata)
    return provider


async def _nobody(url: str) -> None:
    raise SignInNeeded("it wants you to sign in again")


class _Storage:
    """The SDK's TokenStorage. Beside the tokens it keeps when they end, and where they are renewed."""

    def __init__(self, server: str, url: str, tokens: TokenStore, credentials: Json) -> None:
        self._server, self._url, self._tokens = server, url, tokens
        self.kept = credentials
        self.provider: OAuthClientProvider | None = None

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken

        stored = self.kept.get("tokens")
        return OAuthToken.model_validate(stored) if isinstance(stored, dict) else None

    async def set_tokens(self, tokens: Any) -> None:
        context = self.provider.context if self.provider else None
        self.kept["tokens"] = tokens.model_dump(mode="json", exclude_none=True)
        self.kept["expires_at"] = time.time() + tokens.expires_in if tokens.expires_in else None
        if context is not None and context.oauth_metadata is not None:
            self.kept["metadata"] = context.oauth_metadata.model_dump(mode="json", exclude_none=True)
        if context is not None and context.client_metadata.redirect_uris:
            self.kept["redirect_uri"] = str(context.client_metadata.redirect_uris[0])
        await self._tokens.put(self._server, self._url, self.kept)

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull

        stored = self.kept.get("client")
        return OAuthClientInformationFull.model_validate(stored) if isinstance(stored, dict) else None

    async def set_client_info(self, client_info: Any) -> None:
        self.kept["client"] = client_info.model_dump(mode="json", exclude_none=True)
