"""Converts every error to one JSON format: `{"error": {code, message, param, type}}`. The only place that maps errors to statuses."""

import errno
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import field

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.api.asgi import SendWatch, allowed_methods, send_json
from anycowork.api.middleware.body import drain_rest
from anycowork.api.middleware.held_chats import HELD_CHAT
from anycowork.domain.boundary import reason_of
from anycowork.domain.errors import (
    AnyCoworkError,
    DatabaseAway,
    HeldElsewhere,
    KeyLimitReached,
    KeyUsedUp,
    LimitReached,
    NotFound,
    Refusal,
    RequestFault,
    StorageFault,
    ToolFault,
    Unauthenticated,
)
from anycowork.domain.limits import SpendingLimitReached
from anycowork.domain.messages import Json
from anycowork.domain.provider_errors import NoAnswerInTime, NoSuchModel, ProviderFault
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible, visible_line
from anycowork.domain.workflows import UnfittingParameters

log = logging.getLogger("anycowork.api")
POSTGRES_DISK_FULL = "53100"


class WrongMethod(RequestFault):
    """`allow` is what the path takes."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, message: str, *, allow: str = "GET") -> None:
        super().__init__(message)
        self.allow = allow


@value
class ErrorResponse:
    status: int
    code: str
    message: str
    param: str | None = None
    more: tuple[tuple[bytes, bytes], ...] = ()
    faults: Mapping[str, str] | None = field(default=None, hash=False)
    """Every parameter at fault with the reason, for a form to show each at its field."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        if self.status == Unauthenticated.status:
            return [(b"www-authenticate", b"Bearer")]
        # Unread bytes of the body must not be parsed as the next request, nor be waited for.
        return [(b"connection", b"close")] if self.status in _UNREAD else list(self.more)

    def to_json(self) -> Json:
        """A message may repeat names that a model or a client chose, and clients print it: hidden characters are written out."""
        kind = _TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        message = visible(UntrustedText(self.message))
        param = None if self.param is None else visible_line(UntrustedText(self.param))
        answer: Json = {"error": {"code": self.code, "message": message, "param": param, "type": kind}}
        if self.faults is not None:
            answer["faults"] = [{"param": name, "message": reason} for name, reason in self.faults.items()]
        return answer


_UNREAD = (408, 413)
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    421: "permission_error",
    429: "rate_limit_error",
    502: "provider_error",
    504: "provider_error",
}


def error_response(error: Exception) -> ErrorResponse:
    """Returns the response for an error. Details of foreign errors are hidden, because they may contain anything."""
    match error:
        case NotFound():
            return ErrorResponse(error.status, error.specific_code, error.message)
        case KeyLimitReached():
            return ErrorResponse(error.status, error.code, error.message, error.param, _when_to_return(error))
        case WrongMethod():
            return ErrorResponse(error.status, error.code, error.message, more=((b"allow", error.allow.encode()),))
        case UnfittingParameters():
            return ErrorResponse(error.status, error.code, error.message, error.param, faults=error.faults)
        case RequestFault():
            return ErrorResponse(error.status, error.code, error.message, error.param)
        case DatabaseAway():
            return ErrorResponse(503, error.code, error.message, more=((b"retry-after", b"2"),))
        case SpendingLimitReached():
            return ErrorResponse(429, error.code, error.message, error.param, _when_to_return(error))
        case AnyCoworkError():
            return ErrorResponse(_status_of(error), error.code, error.message)
        case RequestValidationError():
            return validation_error_response(error.errors())
        case HTTPException():
            return _answer_to_http(error.status_code)
    return ErrorResponse(500, "internal_error", "An internal error occurred; see the server's log. You may try again.")


def _when_to_return(error: KeyLimitReached | SpendingLimitReached) -> tuple[tuple[bytes, bytes], ...]:
    after = ((b"retry-after", str(error.retry_after).encode()),) if error.retry_after is not None else ()
    # OpenAI's clients retry automatically unless the response forbids it.
    is_final = isinstance(error, (KeyUsedUp, SpendingLimitReached))
    return (*after, (b"x-should-retry", b"false")) if is_final else after


def _status_of(error: AnyCoworkError) -> int:
    match error:
        case Refusal():
            return 403
        case NoSuchModel():
            return 422
        case NoAnswerInTime():
            return 504
        case ProviderFault():
            return 502
        case StorageFault():
            return 507 if _disk_is_full(error) else 503
        case LimitReached():
            return 429
        case ToolFault():
            return 409
    return 500


def _disk_is_full(error: StorageFault) -> bool:
    """As the database or the file system said it."""
    cause = error.__cause__
    if isinstance(cause, OSError):
        return cause.errno in (errno.ENOSPC, errno.EDQUOT)
    if getattr(cause, "sqlstate", None) == POSTGRES_DISK_FULL:
        return True
    return isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def _answer_to_http(status: int) -> ErrorResponse:
    """Converts errors of the framework: an unknown path, a wrong method, an unreadable body."""
    answers = {
        404: ("route_not_found", "There is nothing at this path. /openapi.json lists what there is."),
        405: ("method_not_allowed", "This path does not support this method. /openapi.json lists the supported ones."),
    }
    code, message = answers.get(status, ("bad_request", "The request could not be read. Send a JSON body."))
    return ErrorResponse(status, code, message)


# --- validation: a path to the field, and a sentence


def validation_error_response(faults: Sequence[Mapping[str, object]]) -> ErrorResponse:
    """Returns 422 with the first invalid field; 400 if the body was not JSON. The input is never repeated."""
    if any(fault["type"] == "json_invalid" for fault in faults):
        return ErrorResponse(400, "bad_json", "The body is not valid JSON. Send one JSON object.")
    first = faults[0]
    param = _path_of(first)
    more = f" ({len(faults) - 1} more to correct.)" if len(faults) > 1 else ""
    return ErrorResponse(422, "invalid", _sentence(first, param) + more, param)


def _path_of(fault: Mapping[str, object]) -> str | None:
    location = fault["loc"]
    assert isinstance(location, tuple)
    inner = location[1:] if location and location[0] in ("body", "query", "path", "header") else location
    return ".".join(str(part) for part in inner) or None


def _sentence(fault: Mapping[str, object], param: str | None) -> str:
    if param is None:
        return "The body must be a JSON object, sent with Content-Type: application/json."
    match fault["type"]:
        case "missing":
            return f"'{param}' is missing."
        case "extra_forbidden":
            return f"'{param}' is not a field here; remove it."
    return f"'{param}' {reason_of(str(fault['msg']))}."


# --- where errors are caught


def catch_errors(app: FastAPI) -> None:
    """Errors inside JSON routes. The framework raises the unforeseen ones again after answering, so the shield logs them."""
    for kind in (AnyCoworkError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _respond)


async def _respond(request: Request, error: Exception) -> Response:
    if isinstance(error, HeldElsewhere):
        request.scope[HELD_CHAT] = error.chat_id
    answer = error_response(error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if answer.status == WrongMethod.status:  # the framework names the methods of one route; the path may have more
        headers["Allow"] = allowed_methods(request.app.routes, request.scope["path"])
    headers |= {key.decode(): value.decode() for key, value in answer.headers}
    body = msgspec.json.encode(answer.to_json())
    return Response(body, status_code=answer.status, headers=headers, media_type="application/json")


class ErrorMiddleware:
    """Handles errors everywhere else, including unexpected ones: the caller gets a response, the log gets the stack trace."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = SendWatch.of(send)
        try:
            await self._app(scope, receive, watch)
        except Exception as error:  # whatever it was, the caller is answered and the log has the stack
            if not isinstance(error, AnyCoworkError):
                log.exception("unexpected error at %s %s", scope["method"], scope["path"])
            if watch.status:
                return  # The server sees an unfinished answer and closes the connection.
            answer = error_response(error)
            sending = drain_rest(scope, receive, watch)
            await send_json(sending, answer.status, answer.to_json(), answer.headers)
