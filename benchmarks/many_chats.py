"""What do many chats cost? A start, an idle server, the first page of the list and a check of the whole audit log, beside few chats.

`--size` sets the number of chats [10,000]; each has ten messages, so that it has about twelve records.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

from anycowork.domain.chats import Chat, ChatConfig
from anycowork.domain.journal import AddChat, Change
from anycowork.domain.messages import Message, Speaker
from anycowork.server.clock import SystemClock
from anycowork.store.sqlite.database import open_store
from measuring import Ground, Leg, cpu_seconds_of, environment_of_ours, pss_megabytes_of
from startup import IDLE_SECONDS, TIMEOUT, served
from workplace import PERSON

QUESTION = "CPU of a start, of the list of chats and of a check of the audit log, and idle memory, with many chats"
CHATS, FEW = 10_000, 10
MESSAGES = 10
_AT_ONCE = 200
_TEXT = "The report is written as JSON now; `station/report.py` writes one object per hour. " * 4
_MEMORY = """import resource, runpy, sys
sys.argv = ["anycowork", "audit", "verify", "--full", "--data-dir", sys.argv[1]]
try:
    runpy.run_module("anycowork.cli.main", run_name="__main__")
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)
"""


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("few") as few, ground.fresh("many") as many:
        asyncio.run(_fill(few, FEW))
        asyncio.run(_fill(many, ground.size or CHATS))
        yield {
            "few": partial(_server, few),
            "many": partial(_server, many),
            "few_audit": partial(_audit, few),
            "many_audit": partial(_audit, many),
        }


async def _fill(folder: Path, chats: int) -> None:
    (folder / "data").mkdir()
    workspace = str(folder / "workspace")
    clock = SystemClock()
    database = open_store(folder / "data" / "anycowork.db", clock, lambda record: None)
    try:
        for start in range(0, chats, _AT_ONCE):
            numbers = range(start, min(start + _AT_ONCE, chats))
            await asyncio.gather(*(database.journal.write(_chat(clock, workspace, number)) for number in numbers))
    finally:
        await database.aclose()


def _chat(clock: SystemClock, workspace: str, number: int) -> Change:
    chat = Chat(clock.new_id(), f"Chat {number}", workspace, ChatConfig("actor"), created_at=clock.now())
    said = (
        Message(clock.new_id(), chat.id, speaker, f"{at} {_TEXT}", turn_id=clock.new_id(), created_at=clock.now())
        for at, speaker in enumerate((Speaker.USER, Speaker.ASSISTANT) * (MESSAGES // 2))
    )
    return Change(chat.id, (AddChat(chat, PERSON.label()), *said))


def _server(folder: Path) -> dict[str, float]:
    with served(folder) as (process, url):
        started = cpu_seconds_of(process.pid)
        time.sleep(IDLE_SECONDS)
        idle = pss_megabytes_of(process.pid)
        token = (folder / "data" / "token").read_text().strip()
        before = cpu_seconds_of(process.pid)
        for _ in range(20):
            _first_page(url, token)
        page = (cpu_seconds_of(process.pid) - before) / 20
    return {"start_cpu_s": started, "idle_mb": idle, "page_cpu_ms": page * 1000}


def _first_page(url: str, token: str) -> None:
    request = Request(f"{url}/context?limit=50", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, timeout=TIMEOUT) as answer:
        json.load(answer)


def _audit(folder: Path) -> dict[str, float]:
    words = [sys.executable, "-c", _MEMORY, str(folder / "data")]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=1200, env=environment_of_ours())
    spent, peak = done.stderr.split()[-2:]
    return {"cpu_s": float(spent), "peak_mb": float(peak)}
