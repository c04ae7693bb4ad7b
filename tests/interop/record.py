"""Records the corpus anew: what real clients send, and what a provider answers, byte for byte. Run by hand, from the repository:

    PYTHONPATH=src:tests .venv/bin/python tests/interop/record.py

Answers that no client provokes (comments, CR LF, gzip, a stream that ends too soon) are written by `oddities`.
"""

import asyncio
import gzip
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openai import OpenAI

from support.raw_http import exchanged, read_request
from support.real_clients import mind
from support.scripted_model import ScriptedModel

CORPUS = Path(__file__).parent / "corpus"
SDK = Path(__file__).parent / "sdk"
SCRIPTS = Path(__file__).parents[2] / "scripts"
KEY = "sk-of-the-client"
MESSAGES = [{"role": "user", "content": "Grüße 👋"}]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]
EMPTY_OF_SECRETS = re.compile(rb"(?im)^(host|date|server): .*\r\n")


class Recorder:
    """Stands before the scripted model and writes down each exchange. Every answer closes its connection."""

    def __init__(self, model_url: str) -> None:
        self._model_url = model_url
        self.taken: list[tuple[bytes, bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            request = await read_request(reader)
            closing = re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", request).replace(
                b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1
            )
            answer = await exchanged(self._model_url, closing)
            self.taken.append((request, answer))
            writer.write(answer)
            await writer.drain()
        writer.close()


@contextmanager
def recording() -> Iterator[tuple[str, Recorder]]:
    ready, closing, made = threading.Event(), threading.Event(), []

    async def serve() -> None:
        async with ScriptedModel(mind=mind, models=("scripted", "other")) as model:
            recorder = Recorder(model.base_url)
            async with await asyncio.start_server(recorder.serve, "127.0.0.1", 0) as server:
                made.append((f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", recorder))
                ready.set()
                await asyncio.to_thread(closing.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(5)
    try:
        yield made[0]
    finally:
        closing.set()
        thread.join(5)


def ask(client: OpenAI) -> Iterator[tuple[str, Callable[[], object]]]:
    chat, words = client.chat.completions, {"model": "scripted", "messages": MESSAGES}
    yield "python-whole", lambda: chat.create(**words, max_completion_tokens=50)
    yield "python-streamed", lambda: list(chat.create(**words, stream=True, stream_options={"include_usage": True}))
    yield "python-without-usage", lambda: list(chat.create(**words, stream=True))
    yield "python-tools", lambda: chat.create(**words, tools=TOOLS)
    yield "python-tools-streamed", lambda: list(chat.create(**words, tools=TOOLS, stream=True))
    yield "python-response", lambda: client.responses.create(model="scripted", input="hi")
    yield "python-response-streamed", lambda: list(client.responses.create(model="scripted", input="hi", stream=True))
    yield "python-embeddings", lambda: client.embeddings.create(model="scripted", input=["a", "abc"])
    for name in ("refuses", "unknown", "busy", "fails", "breaks"):
        yield f"python-{name}", lambda name=name: list(chat.create(model=name, messages=MESSAGES, stream=True))


def record() -> None:
    with recording() as (url, recorder):
        with OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            for name, asking in ask(client):
                with suppress(Exception):  # some are meant to fail
                    asking()
                keep(name, *recorder.taken[-1])
        at = len(recorder.taken)
        node = subprocess.check_output([sys.executable, "-c", "import webui; print(webui.find_node())"], cwd=SCRIPTS)
        environment = {**os.environ, "BASE_URL": url, "API_KEY": KEY}
        subprocess.run([node.strip().decode(), "walk.mjs"], cwd=SDK, env=environment, check=True, capture_output=True)
        for index, (request, answer) in enumerate(recorder.taken[at:]):
            if request.startswith(b"POST"):
                keep(f"node-{index:02}", request, answer, answers=False)


def keep(name: str, request: bytes, answer: bytes, *, answers: bool = True) -> None:
    (CORPUS / "requests" / f"{name}.http").write_bytes(EMPTY_OF_SECRETS.sub(b"", request))
    if answers:
        (CORPUS / "answers" / f"{name}.http").write_bytes(EMPTY_OF_SECRETS.sub(b"", answer))


# --- what no client provokes

WORD = b'data: {"choices":[{"index":0,"delta":{"content":"Good"}}]}'


def oddities() -> None:
    whole = b'{"object":"chat.completion","choices":[]}'
    sse = b"Content-Type: text/event-stream\r\n"
    made = {
        "comments-and-crlf": _answer(200, sse, b": hello\r\n\r\n" + WORD + b"\r\n\r\nevent: ping\r\n\r\n: bye\r\n\r\n"),
        "bare-cr": _answer(200, sse, WORD + b"\r\r" + WORD + b"\r\r"),
        "no-end": _answer(200, sse, WORD + b"\n\n" + WORD),
        "chunks-with-words": b"HTTP/1.1 200 OK\r\n" + sse + b"Transfer-Encoding: chunked\r\n\r\n"
        b"5;name=value\r\ndata:\r\n1\r\n \r\n3\r\na\n\n\r\n0\r\n\r\n",
        "broken-chunks": b"HTTP/1.1 200 OK\r\n"
        + sse
        + b"Transfer-Encoding: chunked\r\n\r\n6\r\ndata: \r\n40\r\nno more",
        "broken-length": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n" + whole,
        "until-closed": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + whole,
        "old-http": b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 41\r\n\r\n" + whole,
        "gzip": _answer(
            200,
            b"Content-Type: application/json\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n",
            gzip.compress(whole, mtime=0),
        ),
        "unknown-encoding": _answer(
            200, b"Content-Type: application/json\r\nContent-Encoding: zstd\r\n", b"\x28\xb5/\xfd\x00"
        ),
        "no-content": b"HTTP/1.1 204 No Content\r\nX-Request-Id: r-1\r\n\r\n",
        "unauthorized": _answer(
            401, b"Content-Type: application/json\r\nWWW-Authenticate: Bearer\r\n", b'{"error":{"message":"bad key"}}'
        ),
        "limits": _answer(
            429,
            b"Content-Type: application/json\r\nRetry-After: 20\r\nX-RateLimit-Limit-Requests: 60\r\n"
            b"X-RateLimit-Remaining-Tokens: 0\r\nX-RateLimit-Reset-Tokens: 6m0s\r\nX-Request-Id: r-2\r\n",
            b'{"error":{"message":"slow","type":"tokens","param":null,"code":"rate_limit_exceeded"}}',
        ),
        "html": _answer(502, b"Content-Type: text/html\r\nServer: cloud\r\n", b"<html><h1>502</h1>\r\n\xff</html>"),
        "odd-status": _answer(299, b"X-Odd: a,b\r\nX-Odd: c\r\nOpenAI-Processing-Ms: 7\r\n", b"\x00\x01\xff\r\n\r\n"),
        "empty": _answer(200, b"Content-Type: application/json\r\n", b""),
    }
    for name, raw in made.items():
        (CORPUS / "answers" / f"{name}.http").write_bytes(raw)


def _answer(status: int, headers: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %d Said\r\n%sContent-Length: %d\r\n\r\n%s" % (status, headers, len(body), body)


if __name__ == "__main__":
    record()
    oddities()
