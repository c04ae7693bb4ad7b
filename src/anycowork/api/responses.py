"""Encodes JSON responses and declares the error statuses of routes."""

from functools import cache
from typing import Any

import msgspec
from fastapi import Response

from anycowork.api.schemas.base import Error

Responses = dict[int | str, dict[str, Any]]  # Any: FastAPI's own type for what it copies into OpenAPI

_WHY = {
    400: ("bad_json", "The body is not valid JSON. Send one JSON object."),
    401: ("unauthenticated", "This needs the server's token: send 'Authorization: Bearer <token>'."),
    403: ("not_allowed", "The client key 'editor' reaches the models only; use the server's token."),
    404: ("chat_not_found", "There is no chat '0197f3f0'."),
    408: ("too_slow", "The body did not arrive within 30 seconds."),
    409: ("turn_running", "A turn is running in this chat. Wait for its end, or stop it."),
    410: ("snapshot_pruned", "This snapshot's content was pruned to make room for newer ones."),
    413: ("too_large", "The body is larger than 10485760 bytes."),
    415: ("unknown_encoding", "A body in the encoding 'br' cannot be read here. Send it plain, or as gzip."),
    421: ("wrong_host", "This server does not answer to the host 'example.com'."),
    422: ("invalid", "'content' is missing."),
    429: ("limit_reached", "Too many messages were sent within an hour. Try again later."),
    500: ("internal_error", "Something failed inside AnyCowork; its log says what."),
    502: ("provider_unreachable", "The provider did not answer."),
    503: ("storage_failed", "The database did not take the change; nothing was changed. Try again."),
    504: ("provider_timed_out", "The provider did not begin to answer in time."),
    507: ("disk_full", "The disk is full; nothing was changed. Free some space and try again."),
}
_EVERY_ROUTE = (401, 403, 421, 500, 503)
_WITH_BODY = (400, 408, 409, 413, 422, 507)


def json_response(status: int, body: object) -> Response:
    return Response(msgspec.json.encode(body), status_code=status, media_type="application/json")


def error_responses(*statuses: int, body: bool = False) -> Responses:
    """The documented errors of a route: these, those of every route, and with `body` those that reading one can bring."""
    documented = {*_EVERY_ROUTE, *statuses, *(_WITH_BODY if body else ())}
    return {status: _documented(status) for status in sorted(documented)}


@cache
def _documented(status: int) -> dict[str, Any]:  # Any: as above
    code, message = _WHY[status]
    example = {"error": {"code": code, "message": message, "param": None, "type": "invalid_request_error"}}
    return {"model": Error, "description": message, "content": {"application/json": {"example": example}}}
