"""The browser's session: begun with a one-time code or with a person's token, ended by signing out. It belongs to that person."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import Field

from anycowork.api.middleware.auth import Reader, expired_cookie, maker_in, person_in, session_cookie, session_in
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.people import CodeResponse, SessionResponse, SignedInResponse
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Unauthenticated
from anycowork.domain.principals import NotConfirmed, PrincipalKind

routes = Router(tags=["session"])

CODE_SECONDS = 60


Confirmation = Annotated[str, Field(min_length=1, max_length=20, examples=["482913"])]


class SignIn(Boundary):
    code: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    confirmation: Confirmation | None = None


class SessionConfirmation(Boundary):
    confirmation: Confirmation


@routes.post("/session", status_code=201, response_model=SessionResponse, responses=error_responses(body=True))
async def sign_in(body: SignIn, request: Request, services: ServicesDep) -> Response:
    """Begins a session of this browser: with `code`, or with a person's token as bearer. Sets the cookie and answers with the page key.

    A session of a code manages nothing until it is confirmed, here or at `/session/confirmation`.
    """
    if body.code is not None:
        session = await services.access.sessions.redeem(body.code, body.confirmation)
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


@routes.post("/session/confirmation", status_code=204, response_class=Response, responses=error_responses(body=True))
async def confirm_session(
    body: SessionConfirmation, principal: Reader, request: Request, services: ServicesDep
) -> Response:
    """Lets a session that began with a code manage, with the digits that stand beside the link. After five wrong ones it ends."""
    session = session_in(request.scope)
    if session is not None and not await services.access.sessions.confirm(session.node, body.confirmation):
        raise NotConfirmed(
            "These are not the digits that belong to the link of this browser. Look at the terminal again, or sign in with your token."
        )
    return Response(status_code=204)


@routes.get("/session", response_model=SignedInResponse, responses=error_responses())
async def show_session(principal: Reader, services: ServicesDep) -> Response:
    """Who sends this request, and what they may do."""
    is_owner = principal.kind is PrincipalKind.PERSON and principal.person is None
    groups = await services.store.visibility.groups() if is_owner else principal.groups
    description = {
        "id": principal.id,
        "name": principal.name,
        "access": principal.access.value,
        "owner": is_owner,
        "scopes": sorted(principal.scopes),
        "confirmed": principal.is_confirmed,
        "shared": bool(await services.access.people.all()),
        "groups": sorted(groups),
    }
    return json_response(200, description)


@routes.post("/session/codes", status_code=201, response_model=CodeResponse, responses=error_responses(body=True))
async def new_code(principal: Reader, request: Request, services: ServicesDep) -> Response:
    """A code that signs one browser in as the same person, once and soon: `/#code=…` in its address.

    With `&confirmation=…` behind it the session may manage at once: never put both where others could read them, as in the arguments
    of a program.
    """
    person, sessions = person_in(request.scope), services.access.sessions
    if not principal.is_confirmed:
        raise NotConfirmed("This browser's own sign-in is not confirmed yet, so it signs no other in.")
    offered = sessions.offer(CODE_SECONDS, person=person, maker=maker_in(request.scope, sessions))
    response = json_response(
        201, {"code": offered.code, "confirmation": offered.confirmation, "expires_in": CODE_SECONDS}
    )
    response.headers["cache-control"] = "no-store"
    return response


@routes.delete("/session", status_code=204, response_class=Response, responses=error_responses())
async def sign_out(principal: Reader, request: Request, services: ServicesDep) -> Response:
    """Ends this browser's session, and those that began with a code of it. Other browsers stay signed in."""
    person_in(request.scope)
    name = services.access.sessions.cookie_name
    if (session := session_in(request.scope)) is not None:
        await services.access.sessions.end(session.node)
    return Response(status_code=204, headers={"set-cookie": expired_cookie(name, request.scope)})
