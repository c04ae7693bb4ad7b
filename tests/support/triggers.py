"""Signed requests, as another system sends them. Signed here by hand, not by the code that checks them."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any
from uuid import uuid4

import aiohttp

from support.live_server import Caller

Json = dict[str, Any]


def signed(secret: str, body: bytes, *, id: str | None = None, at: int | str | None = None) -> dict[str, str]:
    """The headers."""
    delivery, sent_at = id or f"msg_{uuid4().hex}", str(int(time.time()) if at is None else at)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{delivery}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": delivery, "webhook-timestamp": sent_at, "webhook-signature": signature}


async def deliver(server: Caller, trigger_id: str, body: Any, headers: dict[str, str]) -> tuple[int, Json]:
    """Sends without any token: status and answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/triggers/{trigger_id}", data=data, headers=headers) as response,
    ):
        return response.status, await response.json()


async def send(server: Caller, trigger: Json, body: Any, **how: Any) -> tuple[int, Json]:
    """Signs with the trigger's secret, and sends."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await deliver(server, trigger["id"], data, signed(trigger["secret"], data, **how))
