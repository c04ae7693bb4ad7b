"""A remote MCP server that answers `tools/list` with the bytes that a test gives it: endless, compressed or in other letters."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any  # JSON-RPC

from anycowork.domain.values import value

Message = dict[str, Any]


@value
class HttpAnswer:
    """`pieces` are sent one after the other, until the reader has had enough."""

    pieces: Iterable[bytes]
    content_type: str = "application/json"
    encoding: str | None = None


class RawHttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, lists_tools: Callable[[Message], HttpAnswer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lists_tools = lists_tools
        self.was_cut_off = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"


class _Handler(BaseHTTPRequestHandler):
    server: RawHttpServer

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self._empty(405)

    def do_DELETE(self) -> None:
        self._empty(405)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in asked:
            self._empty(202)
        elif asked["method"] == "initialize":
            about = {"name": "far", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
            self._send(HttpAnswer([json.dumps(reply(asked, result)).encode()]))
        elif asked["method"] == "tools/list":
            self._send(self.server.lists_tools(asked))
        else:
            error = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no such method"}}
            self._send(HttpAnswer([json.dumps(error).encode()]))

    def _empty(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, answer: HttpAnswer) -> None:
        """HTTP/1.0: the end of the connection is the end of the answer."""
        self.send_response(200)
        self.send_header("Content-Type", answer.content_type)
        if answer.encoding is not None:
            self.send_header("Content-Encoding", answer.encoding)
        self.end_headers()
        try:
            for piece in answer.pieces:
                self.wfile.write(piece)
        except OSError:
            self.server.was_cut_off.set()


def reply(asked: Message, result: Any) -> Message:
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


@contextmanager
def raw_http_server(lists_tools: Callable[[Message], HttpAnswer]) -> Iterator[RawHttpServer]:
    server = RawHttpServer(lists_tools)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
