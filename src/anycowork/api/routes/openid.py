"""Sign-on with an OpenID provider. Nothing here needs a token: a cookie of ours, and the provider's signature, say who comes back."""

from typing import Annotated
from urllib.parse import parse_qs, quote

from fastapi import Query, Request, Response

from anycowork.api.middleware.auth import OPENID_CALLBACK, OPENID_LOGOUT, OPENID_SIGN_IN, cookie_in
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.people import SignOnResponse
from anycowork.domain.errors import NotFound, RequestFault
from anycowork.server.services import Services
from anycowork.server.sign_on.sign_on_service import SIGN_IN_SECONDS, SignOnService

routes = Router(tags=["session"])

_PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
_LONGEST_FORM = 64 * 1024


@routes.get("/openid", response_model=SignOnResponse, responses=error_responses())
async def show_sign_on(services: ServicesDep) -> Response:
    """With whom people sign on here; null where they bring a token."""
    sign_on = services.access.sign_on
    return json_response(200, {"name": sign_on.name if sign_on else None})


@routes.get(OPENID_SIGN_IN, include_in_schema=False)
async def begin_sign_on(request: Request, services: ServicesDep) -> Response:
    """Sends the browser to the provider."""
    sign_on, base_url = _configured(services), str(request.base_url)
    try:
        begun = await sign_on.begin(base_url)
    except RequestFault as error:
        return Response(error.message, error.status, media_type="text/plain", headers=_PRIVATE)
    cookie = _cookie(sign_on, base_url, begun.pending, SIGN_IN_SECONDS)
    return Response(status_code=303, headers={"location": begun.address, "set-cookie": cookie, **_PRIVATE})


@routes.get(OPENID_CALLBACK, include_in_schema=False)
async def finish_sign_on(
    request: Request,
    services: ServicesDep,
    code: Annotated[str | None, Query(max_length=8_000)] = None,
    state: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Where the browser comes back. The page trades the code in the fragment, which no server is sent, for its session."""
    sign_on, base_url = _configured(services), str(request.base_url)
    no_cookie = {"set-cookie": _cookie(sign_on, base_url, "", 0)}
    try:
        cookie = cookie_in(request.scope, sign_on.cookie_name)
        own_code = await sign_on.finish(base_url, code=code, state=state, cookie=cookie)
    except RequestFault as error:
        return Response(error.message, error.status, media_type="text/plain", headers={**_PRIVATE, **no_cookie})
    return Response(status_code=303, headers={"location": f"/#code={quote(own_code)}", **_PRIVATE, **no_cookie})


@routes.post(OPENID_LOGOUT, include_in_schema=False)
async def end_sign_on(request: Request, services: ServicesDep) -> Response:
    """Where the provider tells that somebody signed out there (back-channel logout)."""
    sign_on = _configured(services)
    body = await request.body()
    tokens = parse_qs(body[:_LONGEST_FORM].decode("latin-1"), max_num_fields=10).get("logout_token", [])
    if len(body) > _LONGEST_FORM or len(tokens) != 1:
        raise RequestFault("This needs one logout_token.", param="logout_token")
    await sign_on.end_by_provider(tokens[0])
    return Response(status_code=200, headers=_PRIVATE)


def _configured(services: Services) -> SignOnService:
    if services.access.sign_on is None:
        raise NotFound("OpenID provider", "openid")
    return services.access.sign_on


def _cookie(sign_on: SignOnService, base_url: str, value: str, seconds: int) -> str:
    """Lax: the browser comes back from another site."""
    secure = "; Secure" if sign_on.sets_secure_cookies(base_url) else ""
    return f"{sign_on.cookie_name}={value}; Path=/openid; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}"
