"""Sends a notification as its target wants it: by webhook, push or e-mail."""

import asyncio
import base64
import json
import os
import ssl
import time
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from anycowork.domain.errors import ToolFault
from anycowork.domain.network import WebAddress, read_address, read_destination
from anycowork.domain.notifications import (
    DeliveryOutcome,
    NotificationMessage,
    NotificationTarget,
    PushKeys,
    TargetKind,
    read_push_keys,
    signed_headers,
)
from anycowork.domain.values import value
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress
from anycowork.store.sql.notifications import NotificationTable
from anycowork.tools.web.web_client import WebClient

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

_POST_SECONDS = 10.0
_TARGET_GONE = 410
_MAIL_SECONDS = 15.0
_WHOLE_SECONDS = 45.0
_ABSENT = DeliveryOutcome(
    "This server sends no e-mail: an admin names a mail server in the setting 'notifications' (docs/settings.md)."
)
# `cryptography` is loaded with the first push: a start does not pay for it.

_GONE = (404, 410)
_SECONDS_KEPT = 24 * 3600
"""So long a push service keeps a message for a browser that is away."""
_SIGNED_SECONDS = 12 * 3600
_RECORD_BYTES = 4096
_NUMBER_BYTES = 32


class HttpSender:
    """`private_hosts` are the hosts whose address need not be public, by the settings."""

    def __init__(self, egress: Egress, private_hosts: tuple[str, ...] = ()) -> None:
        self._egress = egress
        self._private = tuple(read_destination(host) for host in private_hosts)

    async def post(
        self,
        address: WebAddress,
        headers: dict[str, str],
        content: bytes,
        *,
        by_admin: bool,
        gone_statuses: tuple[int, ...],
    ) -> DeliveryOutcome:
        """Posts it once. What an admin named may lie in a private network. `gone_statuses` mean that nothing is taken there."""
        to = address.destination
        is_private = by_admin or any(host.covers(to) for host in self._private)
        client = WebClient(self._egress, NetworkReach((to,), (to,) if is_private else (), own_server=by_admin))
        try:
            response = await client.request(
                address, headers=headers, content=content, seconds=_POST_SECONDS, reads_body=False
            )
        except ToolFault as fault:
            return DeliveryOutcome(fault.message)
        if 200 <= response.status < 300:
            return DeliveryOutcome(status=response.status)
        reason = "redirects, which is not followed" if 300 <= response.status < 400 else "did not take it"
        return DeliveryOutcome(
            f"{to} {reason} (status {response.status}).", response.status, response.status in gone_statuses
        )


async def send_webhook(
    sender: HttpSender, address: str, secret: str, message: NotificationMessage, *, by_admin: bool
) -> DeliveryOutcome:
    body = json.dumps(message.to_json(), separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json", **signed_headers(message.id, int(time.time()), body, secret)}
    return await sender.post(read_address(address), headers, body, by_admin=by_admin, gone_statuses=(_TARGET_GONE,))


class MailSecurity(StrEnum):
    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"

    @property
    def usual_port(self) -> int:
        return {MailSecurity.STARTTLS: 587, MailSecurity.TLS: 465, MailSecurity.NONE: 25}[self]


@value
class MailServer:
    host: str
    port: int
    security: MailSecurity
    sender: str
    user: str | None = None
    password: str | None = None
    ca_file: str | None = None


async def send_email(server: MailServer | None, address: str, message: NotificationMessage) -> DeliveryOutcome:
    """Sends it once. Nothing of it is anybody's text, and the address was checked: no header can be added."""
    if server is None:
        return _ABSENT
    import smtplib  # only here and below: most servers send no e-mail

    try:
        async with asyncio.timeout(_WHOLE_SECONDS):
            await asyncio.to_thread(_deliver, server, address, composed(server.sender, address, message))
    except TimeoutError:
        return DeliveryOutcome(f"The mail server {server.host}:{server.port} did not answer in time.")
    except smtplib.SMTPResponseException as error:
        return DeliveryOutcome(f"The mail server {server.host}:{server.port} did not take it (code {error.smtp_code}).")
    except smtplib.SMTPRecipientsRefused as error:
        codes = ", ".join(str(code) for code, _ in error.recipients.values())
        return DeliveryOutcome(f"The mail server {server.host}:{server.port} refused the address (code {codes}).")
    except (smtplib.SMTPException, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return DeliveryOutcome(f"No e-mail could be sent through {server.host}:{server.port} ({reason}).")
    return DeliveryOutcome()


def composed(sender: str, address: str, message: NotificationMessage) -> EmailMessage:
    mail = EmailMessage(policy=SMTP)
    mail["From"] = f"AnyCowork <{sender}>"
    mail["To"] = address
    mail["Subject"] = message.title
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{message.id}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = [f"- {kind.value}: {url}" for kind, _, url in message.waits] or [message.url]
    note = "You decide on the page. This message holds nothing of what it is about."
    mail.set_content("\n".join([f"{message.title}.", "", *lines, "", note, ""]))
    return mail


def _deliver(server: MailServer, address: str, mail: EmailMessage) -> None:
    """Blocking. Raises: SMTPException, OSError."""
    import smtplib

    context = ssl.create_default_context()
    if server.ca_file is not None:
        context.load_verify_locations(server.ca_file)
    if server.security is MailSecurity.TLS:
        client: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=_MAIL_SECONDS, context=context)
    else:
        client = smtplib.SMTP(server.host, server.port, timeout=_MAIL_SECONDS)
    with client:
        if server.security is MailSecurity.STARTTLS:
            client.starttls(context=context)  # raises if the server offers none: nothing goes on in plain
        if server.user and server.password and server.security is not MailSecurity.NONE:
            client.login(server.user, server.password)
        client.send_message(mail, server.sender, [address])


async def send_push(
    sender: HttpSender, endpoint: str, keys: PushKeys, message: NotificationMessage, server_key: str, *, by_admin: bool
) -> DeliveryOutcome:
    address = read_address(endpoint)
    content = encrypted(json.dumps(message.to_json(), separators=(",", ":")).encode(), keys)
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        "TTL": str(_SECONDS_KEPT),
        "Urgency": "high",
        "Authorization": vapid_header(address, message.url, server_key, int(time.time())),
    }
    return await sender.post(address, headers, content, by_admin=by_admin, gone_statuses=_GONE)


def new_server_key() -> str:
    """Returns a new private key of this server, as it is stored."""
    from cryptography.hazmat.primitives.asymmetric import ec

    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _to_base64(number.to_bytes(_NUMBER_BYTES))


def public_key_of(server_key: str) -> str:
    """Returns what a browser subscribes with."""
    return _to_base64(_public_bytes(_private_key(server_key).public_key()))


def encrypted(content: bytes, keys: PushKeys, *, own_key: str | None = None, salt: bytes | None = None) -> bytes:
    """Returns the content as only this browser reads it. `own_key` and `salt` are new for each message. Raises: ValueError for bad keys."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    browser_key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), keys.public_key)
    private_key = _private_key(own_key or new_server_key())
    own_public, salt = _public_bytes(private_key.public_key()), salt or os.urandom(16)
    info = b"WebPush: info\0" + keys.public_key + own_public
    secret = _derived(private_key.exchange(ec.ECDH(), browser_key), keys.secret, info, 32)
    content_key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + _RECORD_BYTES.to_bytes(4) + bytes([len(own_public)]) + own_public
    return head + AESGCM(content_key).encrypt(nonce, content + b"\x02", None)


def vapid_header(address: WebAddress, page: str, server_key: str, now: int) -> str:
    """Returns the header that says which server sends this: for the push service's origin only, and for half a day."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    contact = page if page.startswith("https://") else "mailto:anycowork@localhost.invalid"
    claims = {"aud": f"{address.scheme}://{address.host_header}", "exp": now + _SIGNED_SECONDS, "sub": contact}
    parts = [
        _to_base64(json.dumps(part, separators=(",", ":")).encode())
        for part in ({"typ": "JWT", "alg": "ES256"}, claims)
    ]
    private_key = _private_key(server_key)
    numbers = decode_dss_signature(private_key.sign(".".join(parts).encode(), ec.ECDSA(hashes.SHA256())))
    signature = _to_base64(b"".join(number.to_bytes(_NUMBER_BYTES) for number in numbers))
    return f"vapid t={'.'.join([*parts, signature])}, k={_to_base64(_public_bytes(private_key.public_key()))}"


def _private_key(server_key: str) -> "ec.EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    number = int.from_bytes(base64.urlsafe_b64decode(server_key + "=" * (-len(server_key) % 4)))
    return ec.derive_private_key(number, ec.SECP256R1())


def _public_bytes(key: "ec.EllipticCurvePublicKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


def _to_base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@value
class NotificationSettings:
    """`page` is the address that people open; `delay` the seconds that something waits before anybody is told."""

    page: str = ""
    delay: float = 10.0
    private_hosts: tuple[str, ...] = ()
    mail_server: MailServer | None = None


class MessageSender:
    """Reads the settings for each message, so that a change applies at once."""

    def __init__(self, egress: Egress, settings: Callable[[], NotificationSettings], table: NotificationTable) -> None:
        self._egress = egress
        self.settings = settings
        self._table = table

    async def server_key(self) -> str:
        """Returns the key that Web Push is signed with; the first time it is made."""
        return await self._table.push_key() or await self._table.keep_push_key(await asyncio.to_thread(new_server_key))

    async def send(
        self, target: NotificationTarget, secret: str, message: NotificationMessage, *, by_admin: bool
    ) -> DeliveryOutcome:
        """`by_admin`: the target is of a person who may change the settings, and may name private addresses."""
        settings = self.settings()
        http = HttpSender(self._egress, settings.private_hosts)
        match target.kind:
            case TargetKind.WEBHOOK:
                return await send_webhook(http, target.address, secret, message, by_admin=by_admin)
            case TargetKind.EMAIL:
                return await send_email(settings.mail_server, target.address, message)
            case TargetKind.WEB_PUSH:
                keys = read_push_keys(*secret.split(" "))
                server_key = await self.server_key()
                return await send_push(http, target.address, keys, message, server_key, by_admin=by_admin)
            case _:
                assert_never(target.kind)
