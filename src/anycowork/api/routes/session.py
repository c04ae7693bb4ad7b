"""The browser's session: begun with a one-time code or with a person's token, ended by signing out. It belongs to that person."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader, cookie_in, expired_cookie, person_in, session_cookie
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.people import SignedInShape
from anycowork.api.schemas.session import CodeShape, SessionShape
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Unauthenticated
from anycowork.domain.principals import OWNER

routes = Router(tags=["session"])

CODE_SECONDS = 60


class SignIn(Boundary):
    code: Annotated[str, Field(min_length=1, max_length=200)] | None = None


@routes.post("/session", status_code=201, response_model=SessionShape, responses=error_responses(body=True))
async def sign_in(given: SignIn, request: Request, services: ServicesDep) -> Response:
    """Begins a session of this browser: with `code`, or with a person's token as bearer. Sets the cookie and answers with the page key."""
    if given.code is not None:
        session = await services.access.sessions.redeem(given.code)
        if session is None:
            raise Unauthenticated(
                "This sign-in code was used before, or its time is over. 'anycowork open' makes a new one, or paste your token."
            )
    else:
        if "principal" not in request.scope:
            raise Unauthenticated("Signing in needs a one-time code, or a person's token as bearer.")
        session = await services.access.sessions.begin(person_in(request.scope))
    response = json_response(201, {"page_key": session.page_key})
    response.headers["set-cookie"] = session_cookie(services.access.sessions.cookie_name, session.cookie, request.scope)
    response.headers["cache-control"] = "no-store"
    return response


@routes.get("/session", response_model=SignedInShape, responses=error_responses())
async def show_session(principal: Reader, services: ServicesDep) -> Response:
    """Who sends this request, and what they may do."""
    shown = {
        "id": principal.id,
        "name": principal.name,
        "access": principal.access.value,
        "owner": principal == OWNER,
        "scopes": sorted(principal.scopes),
        "shared": bool(await services.access.people.all()),
    }
    return json_response(200, shown)


@routes.post("/session/codes", status_code=201, response_model=CodeShape, responses=error_responses(body=True))
async def new_code(principal: Reader, request: Request, services: ServicesDep) -> Response:
    """A code that signs one browser in as the same person, once and soon: `/#code=…` in its address."""
    code, _ = services.access.sessions.offer(CODE_SECONDS, person=person_in(request.scope))
    response = json_response(201, {"code": code, "expires_in": CODE_SECONDS})
    response.headers["cache-control"] = "no-store"
    return response


@routes.delete("/session", status_code=204, response_class=Response, responses=error_responses())
async def sign_out(principal: Reader, request: Request, services: ServicesDep) -> Response:
    """Ends this browser's session. Other browsers stay signed in."""
    person_in(request.scope)
    name = services.access.sessions.cookie_name
    if (cookie := cookie_in(request.scope, name)) is not None:
        await services.access.sessions.end(cookie)
    return Response(status_code=204, headers={"set-cookie": expired_cookie(name, request.scope)})
