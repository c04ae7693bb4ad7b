"""What does a person's terminal cost, from the pseudo-terminal to a page over HTTP, beside a loop that only reads a pseudo-terminal?

The server's own time is measured, not that of the programs in the terminal, and the loop's likewise. What a read brings depends on who else
uses the machine: each figure is the least of several, taken in turn.
"""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from measuring import Ground, Leg, NotMeasured, cpu_seconds_of
from startup import TIMEOUT, served

QUESTION = "CPU of 50 MB of output, from a terminal to a page, and in a loop that only reads them"
BYTES = 50_000_000
BURSTS = 4
_FLOOD = f"head -c {BYTES} /dev/zero | tr '\\0' x"
# Reads a pseudo-terminal to its end, and says what that cost itself.
_LOOP = """
import os, subprocess, sys, time
master, slave = os.openpty()
process = subprocess.Popen(["/bin/sh", "-c", sys.argv[1]], stdin=slave, stdout=slave, stderr=slave)
os.close(slave)
before, count = time.process_time(), 0
while True:
    try:
        piece = os.read(master, 65536)
    except OSError:
        break
    if not piece:
        break
    count += len(piece)
print(time.process_time() - before, count)
process.wait()
"""


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("terminal") as folder, served(folder, ANYCOWORK_PROBE_LOCAL_SERVERS="false") as (process, url):
        token = (folder / "data" / "token").read_text().strip()
        yield {
            "relayed": partial(_least, partial(_relayed, process.pid, url, token)),
            "bare_loop": partial(_least, _bare_loop),
        }


def _least(burst: Leg) -> dict[str, float]:
    return {"cpu_s": min(burst()["cpu_s"] for _ in range(BURSTS))}


def _bare_loop() -> dict[str, float]:
    printed = subprocess.run(
        [sys.executable, "-c", _LOOP, _FLOOD], capture_output=True, text=True, check=True, timeout=TIMEOUT
    )
    seconds, count = printed.stdout.split()
    if int(count) < BYTES:
        raise NotMeasured(f"the loop read {count} bytes only")
    return {"cpu_s": float(seconds)}


def _relayed(pid: int, url: str, token: str) -> dict[str, float]:
    chat = _post(url, "/context", token, {})["id"]
    terminal = _post(url, f"/context/{chat}/terminals", token, {"rows": 24, "columns": 80})["id"]
    path = f"/context/{chat}/terminals/{terminal}"
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), TIMEOUT) as page:
        head = f"GET {path}/output HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n"
        page.sendall(head.encode())
        page.recv(1 << 16)
        before = cpu_seconds_of(pid)
        _post(url, f"{path}/input", token, {"text": f"{_FLOOD}\r"})
        count, buffer = 0, bytearray(1 << 20)
        while count < BYTES and (size := page.recv_into(buffer)):
            count += size
        spent = cpu_seconds_of(pid) - before  # the shell has not ended yet, so the programs' time is not in it
    _post(url, f"/context/{chat}/person-commands/{terminal}/stop", token, {})
    if count < BYTES:
        raise NotMeasured(f"the page got {count} bytes only")
    return {"cpu_s": spent}


def _post(url: str, path: str, token: str, body: object) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(url + path, json.dumps(body).encode(), headers), timeout=TIMEOUT) as answer:
        found: dict[str, str] = json.load(answer)
        return found
