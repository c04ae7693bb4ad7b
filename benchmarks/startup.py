"""What do a start and an idle server cost, beside a bare FastAPI app that imports aiohttp? And a start with its first page and message?"""

import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from urllib.request import Request, urlopen

from measuring import REPOSITORY, Ground, Leg, NotMeasured, cpu_seconds_of, environment_of_ours, pss_megabytes_of

QUESTION = "CPU until the server is ready, and until a first message is answered; memory when it is idle"
TIMEOUT = 60.0
IDLE_SECONDS = 1.0
# What the page asks for when it is opened, before anybody clicks.
OF_A_PAGE = (
    "/",
    "/context?limit=50",
    "/roles",
    "/settings",
    "/workspaces",
    "/providers",
    "/workflows",
    "/jobs",
    "/about",
)


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("startup") as folder:
        used, talked = folder / "used", folder / "talked"
        _ours(used)  # compiles what is not compiled yet, and leaves a data folder behind
        _first_message(talked)
        _bare_app()
        yield {
            "first_start": partial(_fresh_start, ground),
            "second_start": partial(_ours, used),
            "first_message": partial(_first_message, talked),
            "bare_app": _bare_app,
        }


@contextmanager
def served(data: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of ours with this data folder, ready; and its address."""
    workspace = data / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    words = ["-m", "anycowork.cli.main", "serve", "--port", "0", "--no-open", "--data-dir", f"{data}/data"]
    with running([*words, "--workspace", str(workspace)], **environment) as process:
        line_with(process, "ready")
        url = json.loads((data / "data" / "server.json").read_text())["url"]
        _probe(f"{url}/readyz")
        yield process, url


def _fresh_start(ground: Ground) -> dict[str, float]:
    with ground.fresh("first") as folder:
        return _ours(folder)


def _ours(data: Path) -> dict[str, float]:
    with served(data) as (process, _):
        return _figures(process)


def _first_message(data: Path) -> dict[str, float]:
    """A start, the requests of a page, and a chat whose first message the built-in guide answers: what a start puts off is paid here."""
    with served(data) as (process, url):
        ask = partial(_ask, url, (data / "data" / "token").read_text().strip())
        for path in OF_A_PAGE:
            ask(path)
        chat = json.loads(ask("/context", {"workspace": str(data / "workspace"), "model": "guide"}))["id"]
        ask(f"/context/{chat}/messages", {"content": "hello"})
        ask(f"/context/{chat}/events", until=b"turn-ended")
        ask(f"/context/{chat}/messages?limit=50")
        return {"cpu_s": cpu_seconds_of(process.pid)}


def _ask(url: str, token: str, path: str, body: object = None, *, until: bytes | None = None) -> bytes:
    """What the server answers; of a stream, its lines up to the first with these bytes in it."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = Request(url + path, None if body is None else json.dumps(body).encode(), headers)
    with urlopen(request, timeout=TIMEOUT) as answer:
        if until is None:
            return answer.read()
        return b"".join(takewhile(lambda line: until not in line, answer))


def _bare_app() -> dict[str, float]:
    with running([str(REPOSITORY / "benchmarks" / "peers" / "bare_app.py")]) as process:
        _probe(f"http://127.0.0.1:{line_with(process, 'port').split()[-1]}/healthz")
        return _figures(process)


def _figures(process: subprocess.Popen[str]) -> dict[str, float]:
    cpu = cpu_seconds_of(process.pid)
    time.sleep(IDLE_SECONDS)
    return {"cpu_s": cpu, "pss_mb": pss_megabytes_of(process.pid)}


@contextmanager
def running(words: list[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program of its own, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment_of_ours() | {"PYTHONUNBUFFERED": "1"} | environment,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
        if process.stdout:
            process.stdout.close()


def line_with(process: subprocess.Popen[str], word: str) -> str:
    """The first line that has this word in it. Raises: NotMeasured if none comes."""
    assert process.stdout is not None
    end, seen = time.monotonic() + TIMEOUT, ""
    while select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
        line = process.stdout.readline()
        if word in line or not line:
            break
        seen += line
    else:
        raise NotMeasured("the server said nothing")
    if not line:
        raise NotMeasured(f"the server did not start: {seen.strip()[-300:]}")
    return line


def _probe(url: str) -> None:
    with urlopen(url, timeout=TIMEOUT) as answer:
        if answer.status != 200:
            raise NotMeasured(f"the server answered {answer.status}")
