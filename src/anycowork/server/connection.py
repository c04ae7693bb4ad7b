"""One connection to the server, with limits before a request is complete: how long its head may take, and how large it may be.

No token was checked yet, so without limits everyone who can reach the port could hold any number of connections and any amount of memory.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 30.0
HEAD_BYTES = 64 * 1024
# Longer than clients keep an idle connection: the server closes last, so no client sends into a closed one.
KEEP_ALIVE_SECONDS = 75


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, which would wait forever for a half-sent head. `head_seconds` and `head_bytes` limit it."""

    head_seconds = HEAD_SECONDS
    head_bytes = HEAD_BYTES
    _deadline: asyncio.TimerHandle | None = None
    _in_head = False
    _so_far = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        had_begun = self._in_head
        super().data_received(data)
        if not self._in_head:
            return
        self._so_far = self._so_far + len(data) if had_begun else 0
        if self._so_far > self.head_bytes:
            self._reject(b"431 Request Header Fields Too Large", "The request's headers are too large. Send fewer.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._deadline is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._forget_deadline()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._reject(b"400 Bad Request", "This is not a valid HTTP request.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._on_head_timeout)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_head_timeout(self) -> None:
        self._deadline = None
        if self._answering():  # the next request waits behind a running response
            self._await_head()
        elif self._in_head:
            self._reject(b"408 Request Timeout", "The request's head did not arrive in time.")
        else:
            self.transport.close()  # nothing was sent

    def _answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def _reject(self, status: bytes, reason: str) -> None:
        self._forget_deadline()
        self._in_head = False
        if self.transport.is_closing():
            return
        if not self._answering():  # otherwise this text would appear in the middle of a response
            body = (
                b'{"error":{"code":"bad_head","message":"%b","param":null,"type":"invalid_request_error"}}'
                % reason.encode()
            )
            head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            self.transport.write(head % (status, len(body)) + body)
        self.transport.close()
