"""Signed triggers: how a request shows that it holds a trigger's secret, and which parameters its body brings. Pure.

Signatures are those of the Standard Webhooks specification: HMAC-SHA256 over the delivery's id, its time and its body.
"""

import hmac
import re
from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from anycowork.domain.errors import Invalid, KeyLimitReached, Unauthenticated
from anycowork.domain.messages import Json
from anycowork.domain.notifications import signed_headers
from anycowork.domain.values import value
from anycowork.domain.workflows import UnfittingParameters

NOT_SIGNED = (
    "This request is not signed for a trigger of this server, or its time is more than five minutes off. Send the headers webhook-id,"
    " webhook-timestamp and webhook-signature, as 'On a signed request' in docs/workflows.md shows."
)
WINDOW_SECONDS = 300
"""A request whose time differs more from the server's clock is refused."""
MOST_A_MINUTE = 30
MOST_WAITING = 24
_MOST_SIGNATURES = 10  # a sender that replaces its secret signs with both
_ID = re.compile(r"[A-Za-z0-9_:\-]{1,128}")  # without the dot that stands between the signed parts
_TIME = re.compile(r"[1-9][0-9]{0,11}")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01]){0,80}){1,10}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")


class NotSigned(Unauthenticated):
    """The same for every reason, so that nobody learns which triggers exist."""

    code = "not_signed"


class TooManyStarts(KeyLimitReached):
    """A trigger is started more often than it may be."""


@value
class Delivery:
    """A request as it came, in the terms of the specification."""

    id: str
    timestamp: str
    signatures: str
    body: bytes

    @property
    def key(self) -> str:
        """The key of its start: a delivery that is sent again starts nothing again."""
        return f"delivery:{self.id}"


def is_signed(delivery: Delivery, secret: str, now: str) -> bool:
    """Tells whether one of its signatures is by this secret, and its time is near."""
    if not (_ID.fullmatch(delivery.id) and _TIME.fullmatch(delivery.timestamp)):
        return False
    sent_at = int(delivery.timestamp)
    expected = signed_headers(delivery.id, sent_at, delivery.body, secret)["webhook-signature"].encode()
    entries = delivery.signatures.encode("utf-8", "surrogatepass").split(b" ", _MOST_SIGNATURES)[:_MOST_SIGNATURES]
    fits = [hmac.compare_digest(expected, entry) for entry in entries]
    is_near = abs(datetime.fromisoformat(now).timestamp() - sent_at) <= WINDOW_SECONDS
    return any(fits) and is_near


def require_pointers(payload: Mapping[str, str], fixed: Mapping[str, JsonValue]) -> None:
    """Raises: Invalid for a value that is no JSON Pointer, and for a parameter that is fixed already."""
    for name, pointer in payload.items():
        if not _POINTER.fullmatch(pointer):
            raise Invalid(
                f"'{pointer[:80]}' is no JSON Pointer. Send where the value stands in the body, such as '/commit/branch'.",
                param=f"payload.{name}"[:120],
            )
        if name in fixed:
            raise Invalid(
                f"'{name[:80]}' is in 'parameters' already. Fix its value there or let the body bring it.",
                param="payload",
            )


def brought_parameters(name: str, payload: Mapping[str, str], document: JsonValue) -> Json:
    """Returns the values that the body has where the trigger looks for them. Raises: UnfittingParameters for what is no single value."""
    parameters: Json = {}
    faults: dict[str, str] = {}
    for parameter, pointer in payload.items():
        found_value = _at(document, pointer)
        if isinstance(found_value, dict | list):
            faults[parameter] = "is an object or a list in the body; it must be a text, a number, true or false"
        elif found_value is not None:
            parameters[parameter] = found_value
    if faults:
        raise UnfittingParameters.of(name, faults)
    return parameters


def _at(document: JsonValue, pointer: str) -> JsonValue:
    """Returns the value at this JSON Pointer (RFC 6901), or None."""
    for part in pointer.split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and _INDEX.fullmatch(step) and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document
