"""A provider that costs next to nothing: the same answer to every request, or a stream of the same chunks. Prints its port.

Raw protocol on uvloop; run as a program of its own, so that its CPU is nobody else's.
"""

import asyncio
import re
import sys

import uvloop

CHUNKS = 100
GAP = 0.01
BODY = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"stub","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"'
    + b"Good day. " * 12
    + b'"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":36,"total_tokens":56}}'
)
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"stub","choices":'
    b'[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
)
CHUNK = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":100}}\n\ndata: [DONE]\n\n'
LAST = b"%x\r\n%s\r\n0\r\n\r\n" % (len(USAGE), USAGE)
MODELS = b'{"object":"list","data":[{"id":"stub","object":"model"}]}'
LISTED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(MODELS), MODELS)
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Stub(asyncio.Protocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP only
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer[: end + 2])
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < size:
                return
            request, self._buffer = self._buffer[:size], self._buffer[size:]
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        if request.startswith(b"GET"):
            self._transport.write(LISTED)
        elif b'"stream":true' in request or b'"stream": true' in request:
            self._transport.write(HEAD)
            self._stream(CHUNKS)
        else:
            self._transport.write(WHOLE)

    def _stream(self, left: int) -> None:
        if self._transport.is_closing():
            return
        if left == 0:
            self._transport.write(LAST)
            return
        self._transport.write(CHUNK)
        asyncio.get_running_loop().call_later(GAP, self._stream, left - 1)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0, backlog=2048)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        try:
            runner.run(main())
        except KeyboardInterrupt:
            sys.exit(0)
