"""Notifications: who is told that a decision waits for them, and what they are told: its kind and its page, never its contents. Pure."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from enum import StrEnum

from anycowork.domain.chats import EndReason
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.patterns import late_pattern
from anycowork.domain.times import later
from anycowork.domain.values import value

MOST_TARGETS = 10
"""So many targets one person may have."""
MOST_AN_HOUR = 60
"""So many messages are sent to one person in an hour, over all targets and with tests."""
HOUR = 3600.0
MOST_ATTEMPTS = 5
MOST_FAILURES = 10
"""After so many failed attempts without a success in between a target is disabled."""
CLAIM_SECONDS = 60.0
"""A message whose sender died is sent again after this time."""
_PAUSES = (15.0, 60.0, 300.0, 1800.0)
_MOST_LISTED = 20
_LONGEST_MAIL_ADDRESS = 254
_MAIL_USER = late_pattern(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}")
_MAIL_HOST = late_pattern(r"[A-Za-z0-9.-]{1,253}")
_PUBLIC_KEY_BYTES, _PUSH_SECRET_BYTES = 65, 16
_SECRET_PREFIX = "whsec_"
_SHORTEST_SECRET, _LONGEST_SECRET = 16, 64  # bytes


class WaitKind(StrEnum):
    """What a person is waited for. `continue`: the agent stopped, and a person may let it go on."""

    APPROVAL = "approval"
    QUESTION = "question"
    CONFLICT = "conflict"
    PLAN = "plan"
    REVIEW = "review"
    LIMIT = "limit"
    CONTINUE = "continue"


def kind_of_end(reason: EndReason) -> WaitKind | None:
    """Returns what a turn that ended like that waits for."""
    match reason:
        case EndReason.LIMIT:
            return WaitKind.LIMIT
        case EndReason.BLOCKED | EndReason.INTERRUPTED:
            return WaitKind.CONTINUE
        case _:
            return None


@value
class Wait:
    """Something that stands until a person decides. `principal` is the label of the person who is waited for."""

    id: str
    kind: WaitKind
    chat_id: str
    principal: str


class TargetKind(StrEnum):
    WEBHOOK = "webhook"
    EMAIL = "email"
    WEB_PUSH = "web_push"


@value
class NotificationTarget:
    """Where one person gets notifications. `principal` is their label; `disabled` says why nothing is sent there any more."""

    id: str
    principal: str
    kind: TargetKind
    name: str
    address: str
    created_at: str
    disabled: str | None = None
    failures: int = 0
    last_sent_at: str | None = None
    last_error: str | None = None

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "kind": self.kind.value,
            "name": self.name,
            "address": self.address,
            "enabled": self.disabled is None,
            "disabled": self.disabled,
            "failures": self.failures,
            "last_sent_at": self.last_sent_at,
            "last_error": self.last_error,
            "created_at": self.created_at,
        }


class NotificationStatus(StrEnum):
    DUE = "due"
    SENT = "sent"
    FAILED = "failed"


@value
class Notification:
    """One wait for one target: it is sent once. `due_at` is also when a claimed one may be sent by another server."""

    target_id: str
    wait_id: str
    kind: WaitKind
    chat_id: str
    status: NotificationStatus
    attempts: int
    due_at: str


@value
class DeliveryOutcome:
    """`status` is that of an HTTP answer. `is_gone`: the receiver says that it takes nothing there any more."""

    error: str | None = None
    status: int | None = None
    is_gone: bool = False

    @property
    def is_delivered(self) -> bool:
        return self.error is None


@value
class NotificationMessage:
    """What one message tells. All of it comes from ids, kinds and times: it cannot hold what a chat is about."""

    id: str
    kind: WaitKind | None
    """None for a test."""
    chat_id: str | None
    url: str
    sent_at: str
    waits: tuple[tuple[WaitKind, str, str], ...] = ()
    """Kind, chat and page of each, at most twenty."""
    count: int = 0

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "type": "test" if self.kind is None else "waiting",
            "kind": "test" if self.kind is None else self.kind.value,
            "chat_id": self.chat_id,
            "url": self.url,
            "at": self.sent_at,
            "count": self.count,
            "waits": [{"kind": kind.value, "chat_id": chat_id, "url": url} for kind, chat_id, url in self.waits],
        }

    @property
    def title(self) -> str:
        if self.kind is None:
            return "AnyCowork: this is a test"
        return f"AnyCowork: {_TITLES[self.kind] if self.count == 1 else f'{self.count} decisions wait for you'}"


_TITLES = {
    WaitKind.APPROVAL: "an approval waits for you",
    WaitKind.QUESTION: "a question waits for you",
    WaitKind.CONFLICT: "a conflict waits for you",
    WaitKind.PLAN: "a plan waits for you",
    WaitKind.REVIEW: "a review waits for you",
    WaitKind.LIMIT: "a limit was reached",
    WaitKind.CONTINUE: "work has stopped",
}


def waiting_message(waits: Sequence[Notification], page: str, now: str) -> NotificationMessage:
    """Returns one message about all these waits. The same waits give the same id."""
    ordered = sorted(waits, key=lambda wait: wait.wait_id)
    digest = hashlib.sha256("\n".join(wait.wait_id for wait in ordered).encode()).hexdigest()
    first = waits[0]
    listed = tuple((wait.kind, wait.chat_id, page_of(page, wait.chat_id)) for wait in waits[:_MOST_LISTED])
    return NotificationMessage(
        f"msg_{digest[:32]}", first.kind, first.chat_id, page_of(page, first.chat_id), now, listed, len(waits)
    )


def page_of(page: str, chat_id: str) -> str:
    return f"{page}/#/chat/{chat_id}"


def next_attempt(attempts: int, now: str) -> str | None:
    """Returns when it is tried again; None if it was tried often enough."""
    return None if attempts >= MOST_ATTEMPTS else later(now, _PAUSES[min(attempts, len(_PAUSES)) - 1])


@value
class PushKeys:
    """What a browser gave to encrypt its messages with: its public key, and a secret that the push service does not know."""

    public_key: bytes
    secret: bytes

    def stored(self) -> str:
        return f"{base64.urlsafe_b64encode(self.public_key).decode()} {base64.urlsafe_b64encode(self.secret).decode()}"


def read_push_keys(public_key: str, secret: str) -> PushKeys:
    """Reads both from base64url. Raises: Invalid."""
    try:
        keys = PushKeys(_from_base64(public_key), _from_base64(secret))
    except ValueError:
        keys = PushKeys(b"", b"")
    if len(keys.public_key) != _PUBLIC_KEY_BYTES or keys.public_key[0] != 4 or len(keys.secret) != _PUSH_SECRET_BYTES:
        raise Invalid(
            "These are no keys of a push subscription. Send what the browser's PushSubscription.toJSON() holds.",
            param="subscription.keys",
        )
    return keys


def _from_base64(text: str) -> bytes:
    """Raises: ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def read_mail_address(text: str) -> str:
    """Returns the address. Raises: Invalid for one that a mail server or a header could read in several ways."""
    user, _, host = text.rpartition("@")
    if len(text) > _LONGEST_MAIL_ADDRESS or not _MAIL_USER.fullmatch(user) or not _MAIL_HOST.fullmatch(host):
        raise Invalid("This is no e-mail address. Send one such as 'ada@example.org'.", param="address")
    return text


# --- signatures, as standardwebhooks.com describes them


def signed_headers(message_id: str, seconds: int, body: bytes, secret: str) -> dict[str, str]:
    """Returns the headers that say when the body was sent, and prove that who knows the secret sent it then."""
    signed = b".".join((message_id.encode(), str(seconds).encode(), body))
    signature = base64.b64encode(hmac.digest(secret_bytes(secret), signed, "sha256")).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(seconds), "webhook-signature": f"v1,{signature}"}


def new_secret(random_bytes: bytes) -> str:
    return _SECRET_PREFIX + base64.b64encode(random_bytes).decode()


def secret_bytes(secret: str) -> bytes:
    """Returns the key: what stands in base64 behind 'whsec_', and of any other text its bytes. Raises: Invalid."""
    try:
        is_encoded = secret.startswith(_SECRET_PREFIX)
        key = base64.b64decode(secret[len(_SECRET_PREFIX) :], validate=True) if is_encoded else secret.encode()
    except (binascii.Error, ValueError):
        key = b""
    if not _SHORTEST_SECRET <= len(key) <= _LONGEST_SECRET:
        raise Invalid(
            f"A webhook's secret has {_SHORTEST_SECRET} to {_LONGEST_SECRET} bytes, as they are or in base64 behind '{_SECRET_PREFIX}'."
            " Leave it out to get one.",
            param="secret",
        )
    return key
