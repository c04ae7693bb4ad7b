"""Keeps the promises of child.py without an engine: one line in, one line out, a server with a secret, an end when stdin closes."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

requested = json.loads(sys.stdin.readline())


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._say(401, b"{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Authorization") != f"Bearer {requested['secret']}":
            return self._say(401, b"{}")
        said = {"choices": [{"delta": {"content": f"pid {os.getpid()}"}, "finish_reason": "stop"}]}
        return self._say(200, f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n".encode())

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdout.write(json.dumps({"address": f"http://127.0.0.1:{server.server_port}"}) + "\n")
sys.stdout.flush()
sys.stdin.read()
os._exit(0)
