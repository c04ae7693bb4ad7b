"""Adds security headers to every response. Browsers may load only our own page."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_NOTHING_LOADS = (
    b"content-security-policy",
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
)
_NOT_KEPT = (b"cache-control", b"no-store")


class SecurityHeaders:
    """An answer that brings its own content policy or caching (the page, an asset) keeps it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_missing(message.get("headers", ()))]
            await send(message)

        await self._app(scope, receive, secured)


def _missing(present: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in present}
    return [pair for pair in (*_ALWAYS, _NOTHING_LOADS, _NOT_KEPT) if pair[0] not in names]
