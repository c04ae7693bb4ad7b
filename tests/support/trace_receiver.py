"""A collector of traces: takes OTLP over HTTP and decodes it with the official package."""

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SECONDS = 60.0


class ReceivedSpan:
    def __init__(self, span: Any, service: str) -> None:
        self.name: str = span.name
        self.trace_id: bytes = span.trace_id
        self.span_id: bytes = span.span_id
        self.parent_id: bytes = span.parent_span_id
        self.failed = span.status.code == 2
        self.service = service
        self.took = span.end_time_unix_nano - span.start_time_unix_nano
        self.attributes = {one.key: _plain(one.value) for one in span.attributes}


class TraceReceiver:
    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[ReceivedSpan] = []
        self.bytes = b""
        self._came = threading.Condition()

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        with self._came:
            self.bytes += body
            for resource in request.resource_spans:
                [service] = [
                    one.value.string_value for one in resource.resource.attributes if one.key == "service.name"
                ]
                self.spans += [ReceivedSpan(span, service) for scope in resource.scope_spans for span in scope.spans]
            self._came.notify_all()

    def wait_for(self, *names: str) -> dict[str, ReceivedSpan]:
        """The newest span of each of these names, once all of them came."""
        until = time.monotonic() + SECONDS
        with self._came:
            while set(names) - {span.name for span in self.spans}:
                left = until - time.monotonic()
                assert left > 0, sorted({span.name for span in self.spans})
                self._came.wait(left)
            return {span.name: span for span in self.spans}


@contextmanager
def trace_receiver() -> Iterator[TraceReceiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.take(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = TraceReceiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_plain(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)
