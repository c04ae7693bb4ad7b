"""An OpenID provider on loopback. It signs with real keys, and does what a test says: also what no honest one would do."""

import base64
import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

Claims = dict[str, Any]
CLIENT_ID = "anycowork"
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class ScriptedOpenIdProvider:
    """`claims` are what it says of who signs in now; `changed` is put over the claims of each token, None takes one away."""

    claims: Claims = field(default_factory=lambda: {"sub": "u1", "name": "Ada Lovelace", "groups": ["staff"]})
    changed: Claims = field(default_factory=dict)
    issuer: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=new_key)
    key_id: str = "k1"
    refreshes: bool = True
    refusal: str | None = None
    away: bool = False
    answers_of_tokens: Claims = field(default_factory=dict)
    announced: Claims = field(default_factory=dict)
    forms: list[dict[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    while_it_answers: Callable[[], Awaitable[object]] | None = None
    """What happens between a token and its arrival."""

    def token(self, **more: Any) -> str:
        """An id token of now."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            **self.claims,
            **more,
            **self.changed,
        }
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(kept, self.key, algorithm="RS256", headers={"kid": self.key_id})

    def logout_token(self, **more: Any) -> str:
        claims = {"events": {LOGOUT_EVENT: {}}, "jti": "j1", "name": None, "groups": None, "sid": None, **more}
        return self.token(**claims)

    def sign_in(self, address: str) -> tuple[str, str]:
        """What a person does there: returns the code and the state with which the browser is sent back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert query["client_id"] == CLIENT_ID and query["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return code, query["state"]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if self.away:
            return web.Response(status=503, text="away")
        match request.path:
            case "/.well-known/openid-configuration":
                ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
                own = {name: f"{self.issuer}/{path}" for name, path in ends.items()}
                return web.json_response({"issuer": self.issuer, **own, **self.announced})
            case "/keys":
                public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
                return web.json_response({"keys": [{**public, "kid": self.key_id, "use": "sig"}]})
            case "/authorize":  # somebody who is signed in there is sent back at once
                code, state = self.sign_in(str(request.url))
                raise web.HTTPFound(f"{request.query['redirect_uri']}?{urlencode({'code': code, 'state': state})}")
            case "/token":
                form = {name: str(value) for name, value in (await request.post()).items()}
                self.forms.append(form)
                answer = self._tokens(form)
                if self.while_it_answers is not None:
                    await self.while_it_answers()
                return answer
            case _:
                return web.Response(status=404)

    def _tokens(self, form: dict[str, str]) -> web.Response:
        if self.refusal is not None:
            return web.json_response({"error": self.refusal}, status=400)
        if form["grant_type"] == "refresh_token":
            return web.json_response({"id_token": self.token(), "expires_in": 300, **self.answers_of_tokens})
        asked = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if (
            asked is None
            or asked["code_challenge"] != challenge.decode()
            or asked["redirect_uri"] != form["redirect_uri"]
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        renewal = {"refresh_token": "r1"} if self.refreshes else {}
        return web.json_response(
            {"id_token": self.token(nonce=asked["nonce"]), "expires_in": 300, **renewal, **self.answers_of_tokens}
        )


@asynccontextmanager
async def openid_provider(host: str = "127.0.0.1", **settings: Any) -> AsyncIterator[ScriptedOpenIdProvider]:
    provider = ScriptedOpenIdProvider(**settings)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", provider.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.issuer = f"http://{host}:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        await runner.cleanup()
