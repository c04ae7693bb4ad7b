"""An MCP server that has people sign in, written with the SDK's own server side: `python oauth_mcp_server.py PORT SECONDS`.

Whoever opens its authorization page is logged in at once. Access tokens live for so many seconds.
"""

import secrets
import sys
import time
from typing import Any  # the SDK's types are generic

from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl


class Accounts:
    """The SDK's OAuthAuthorizationServerProvider, in memory."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._clients: dict[str, Any] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._access: dict[str, AccessToken] = {}
        self._refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> Any:
        return self._clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self._clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self._codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        del self._codes[authorization_code.code]
        return self._issued(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self._refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        del self._refresh[refresh_token.token]
        return self._issued(client.client_id, refresh_token.scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self._access.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: Any) -> None:
        self._access.pop(token.token, None)

    def _issued(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        ends = int(time.time()) + self._seconds
        self._access[access] = AccessToken(
            token=access, client_id=client_id, scopes=scopes, expires_at=ends, resource=resource
        )
        self._refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes, resource=resource)
        return OAuthToken(
            access_token=access, expires_in=self._seconds, refresh_token=refresh, scope=" ".join(scopes) or None
        )


if __name__ == "__main__":
    port, seconds = int(sys.argv[1]), int(sys.argv[2])
    origin = f"http://127.0.0.1:{port}"
    server: MCPServer[Any] = MCPServer(
        "accounts",
        auth_server_provider=Accounts(seconds),  # type: ignore[arg-type]  # it is one, by its methods
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            resource_server_url=AnyHttpUrl(f"{origin}/mcp"),
            validate_token_resource=True,
            client_registration_options=ClientRegistrationOptions(enabled=True),
        ),
    )

    @server.tool()
    def secret() -> str:
        """Tell the secret."""
        return "forty-two"

    server.run("streamable-http", host="127.0.0.1", port=port)
