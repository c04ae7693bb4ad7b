"""Sends messages to browsers as Web Push: encrypted for one browser (RFC 8291), and signed by this server (RFC 8292)."""

import base64
import json
import os
import time
from typing import TYPE_CHECKING

from anycowork.chats.notifications.webhook_sender import HttpSender
from anycowork.domain.network import WebAddress, read_address
from anycowork.domain.notifications import DeliveryOutcome, NotificationMessage, PushKeys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

# `cryptography` is loaded with the first push: a start does not pay for it.

_GONE = (404, 410)
_SECONDS_KEPT = 24 * 3600
"""So long a push service keeps a message for a browser that is away."""
_SIGNED_SECONDS = 12 * 3600
_RECORD_BYTES = 4096
_NUMBER_BYTES = 32


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
