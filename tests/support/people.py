"""People of a live server: each with a client that sends their token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_type_hints  # Any: annotations

import aiohttp

from anycowork.api.application import NOUNS
from anycowork.api.gateway.app import FORWARDED
from anycowork.api.middleware import auth
from anycowork.api.router import Route
from anycowork.domain.principals import Scope
from support.live_server import Caller, Json

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
NEEDS: dict[object, Scope] = {
    auth.Reader: Scope.READ,
    auth.Sender: Scope.SEND,
    auth.Decider: Scope.DECIDE,
    auth.Manager: Scope.MANAGE,
}


def scope_of_routes() -> dict[tuple[str, str], Scope | None]:
    """What each documented route requires; None for those that are open."""
    found: dict[tuple[str, str], Scope | None] = {("GET", "/events"): Scope.READ}
    found["GET", "/context/{chat_id}/events"] = Scope.READ
    found["GET", "/context/{chat_id}/terminals/{terminal_id}/output"] = Scope.MANAGE
    for route in (one for noun in NOUNS for one in noun.routes.routes if isinstance(one, Route)):
        hints: dict[str, Any] = get_type_hints(route.endpoint, include_extras=True)
        for method in route.methods:
            found[method, route.path_format] = NEEDS[hints["principal"]] if "principal" in hints else None
    for path in (*FORWARDED, "/v1/models", "/v1/models/{model}"):
        for method in ("GET", "POST"):
            found[method, path] = Scope.PASSTHROUGH
    return found


class PersonClient(Caller):
    """A client with a person's own token."""

    def __init__(self, url: str, session: aiohttp.ClientSession, person: Json) -> None:
        super().__init__(url, session)
        self.id: str = person["id"]
        self.token: str = person["token"]

    async def status(self, method: str, path: str, body: object = None, **extra: str) -> int:
        """The status alone; `extra` are headers, with underscores for dashes."""
        headers = {name.replace("_", "-"): value for name, value in extra.items()}
        async with self.session.request(method, self.url + path, json=body, headers=headers) as response:
            return response.status


def many() -> aiohttp.TCPConnector:
    """Connections without a limit: a test holds a request of each route open at the same time."""
    return aiohttp.TCPConnector(limit=0)


@asynccontextmanager
async def person(
    owner: Caller, name: str, access: str = "member", groups: tuple[str, ...] = ()
) -> AsyncIterator[PersonClient]:
    body = {"name": name, "access": access, **({"groups": [*groups]} if groups else {})}
    made = await owner.ask("POST", "/people", body, expect=201)
    async with aiohttp.ClientSession(connector=many(), headers={"Authorization": f"Bearer {made['token']}"}) as session:
        yield PersonClient(owner.url, session, made)


@asynccontextmanager
async def browser(signed_in: Caller, code: Json | None = None) -> AsyncIterator[Caller]:
    """A browser that signed in with the caller's token, or with a code: from then on it sends cookie and page key alone."""
    async with signed_in.session.post(signed_in.url + "/session", json=code or {}) as response:
        assert response.status == 201, await response.text()
        cookie = response.headers["set-cookie"].partition(";")[0]
        headers = {"Cookie": cookie, "X-AnyCowork-Page-Key": (await response.json())["page_key"]}
    async with aiohttp.ClientSession(connector=many(), headers=headers, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Caller(signed_in.url, session)


async def end_access(owner: Caller, of: str, end: str) -> None:
    """Ends what this person was let in with: they are removed or demoted, or get a new token."""
    match end:
        case "removed":
            async with owner.session.delete(f"{owner.url}/people/{of}") as answer:
                assert answer.status == 204
        case "demoted":
            await owner.ask("PATCH", f"/people/{of}", {"access": "member"})
        case _:
            await owner.ask("POST", f"/people/{of}/token", {})
