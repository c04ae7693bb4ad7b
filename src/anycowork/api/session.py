"""The browser's session: begun with a one-time code or with the server's token, ended by signing out."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager, cookie_in, expired_cookie, session_cookie
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.session import CodeShape, SessionShape
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Unauthenticated
from anycowork.domain.principals import Principal, Scope

routes = Routes(tags=["session"])

CODE_SECONDS = 60


class SignIn(Boundary):
    code: Annotated[str, Field(min_length=1, max_length=200)] | None = None


@routes.post("/session", status_code=201, response_model=SessionShape, responses=faults(body=True))
async def sign_in(given: SignIn, request: Request, rooms: House) -> Response:
    """Begins a session of this browser: with `code`, or with the server's token as bearer. Sets the cookie and answers with the page key."""
    if given.code is not None:
        session = await rooms.sessions.redeem(given.code)
        if session is None:
            raise Unauthenticated(
                "This sign-in code was used before, or its time is over. 'anycowork open' makes a new one, or paste the server's token."
            )
    else:
        principal = request.scope.get("principal")
        if not isinstance(principal, Principal):
            raise Unauthenticated("Signing in needs a one-time code, or the server's token as bearer.")
        principal.require(Scope.MANAGE)
        session = await rooms.sessions.begin()
    response = answer(201, {"page_key": session.page_key})
    response.headers["set-cookie"] = session_cookie(rooms.sessions.cookie_name, session.cookie, request.scope)
    response.headers["cache-control"] = "no-store"
    return response


@routes.post("/session/codes", status_code=201, response_model=CodeShape, responses=faults(body=True))
async def new_code(principal: Manager, rooms: House) -> Response:
    """A code that signs one browser in, once and soon: `/#code=…` in its address."""
    code, _ = rooms.sessions.offer(CODE_SECONDS)
    response = answer(201, {"code": code, "expires_in": CODE_SECONDS})
    response.headers["cache-control"] = "no-store"
    return response


@routes.delete("/session", status_code=204, response_class=Response, responses=faults())
async def sign_out(principal: Manager, request: Request, rooms: House) -> Response:
    """Ends this browser's session. Other browsers stay signed in."""
    name = rooms.sessions.cookie_name
    if (cookie := cookie_in(request.scope, name)) is not None:
        await rooms.sessions.end(cookie)
    return Response(status_code=204, headers={"set-cookie": expired_cookie(name, request.scope)})
