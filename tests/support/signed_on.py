"""A server where people sign on with an OpenID provider, and browsers that do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from anycowork.config.sections import GroupAccess, OpenIdEntry
from support.live_server import LiveServer, live_server
from support.openid_provider import CLIENT_ID, ScriptedOpenIdProvider, openid_provider
from support.set_clock import ScheduleClock

GROUPS = GroupAccess(admin=("root",), member=("staff",), viewer=("guests",))
NOW, LATER, MUCH_LATER = (f"2026-11-19T{time}:00.000000Z" for time in ("08:00", "08:10", "12:00"))


@dataclass
class SignedOn:
    """One browser. `sent_to` is where the server sent it last."""

    url: str
    session: aiohttp.ClientSession
    sent_to: str = ""
    page_key: str = ""

    async def begin(self) -> str:
        """Returns the provider's address that it is sent to."""
        async with self.session.get(f"{self.url}/openid/sign-in", allow_redirects=False) as answer:
            assert answer.status == 303, await answer.text()
            return answer.headers["location"]

    async def come_back(self, code: str, state: str) -> tuple[int, str]:
        """Returns the status, and where it is sent or what it is told."""
        query = {"code": code, "state": state}
        async with self.session.get(f"{self.url}/openid/callback", params=query, allow_redirects=False) as answer:
            return answer.status, answer.headers.get("location") or await answer.text()

    async def trade(self, told: str) -> int:
        """Trades the code of the address for the session, as the page does."""
        async with self.session.post(f"{self.url}/session", json={"code": told.partition("#code=")[2]}) as answer:
            self.page_key = (await answer.json()).get("page_key", "")
            return answer.status

    async def sign_on(self, provider: ScriptedOpenIdProvider) -> tuple[int, str]:
        """Signs on, and trades the code for the session as the page does. Returns the status and what was told."""
        status, told = await self.come_back(*provider.sign_in(await self.begin()))
        if status != 303:
            return status, told
        return await self.trade(told), told

    async def me(self) -> dict[str, Any] | None:
        """Who it is; None if it is nobody any more."""
        async with self.session.get(f"{self.url}/session", headers={"X-AnyCowork-Page-Key": self.page_key}) as answer:
            return await answer.json() if answer.status == 200 else None


@dataclass
class SignOnServer:
    provider: ScriptedOpenIdProvider
    server: LiveServer
    clock: ScheduleClock

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[SignedOn]:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            yield SignedOn(self.server.url, session)

    async def look(self, time: str) -> None:
        """What the server does by itself at this time."""
        self.clock.time = time
        sign_on = self.server.server.services.access.sign_on
        assert sign_on is not None
        await sign_on.renew_due()

    async def sign_out(self, **who: str | None) -> None:
        """The provider says that this person, or this session of theirs, signed out."""
        form = {"logout_token": self.provider.logout_token(**who)}
        async with (
            aiohttp.ClientSession() as provider,
            provider.post(f"{self.server.url}/openid/logout", data=form) as answer,
        ):
            assert answer.status == 200, await answer.text()

    async def people(self) -> dict[str, str]:
        return {one["name"]: one["access"] for one in (await self.server.ask("GET", "/people"))["people"][1:]}


@asynccontextmanager
async def sign_on_server(tmp_path: Path, access: GroupAccess = GROUPS, **settings: Any) -> AsyncIterator[SignOnServer]:
    clock = ScheduleClock(NOW)
    async with openid_provider(**settings) as provider:
        entry = OpenIdEntry(name="Acme", issuer=provider.issuer, client_id=CLIENT_ID, access=access)
        async with live_server(tmp_path, clock=clock, openid=entry) as server:
            yield SignOnServer(provider, server, clock)
