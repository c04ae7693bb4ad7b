"""What do a million records, and a chat of 100,000 messages, cost? The same requests beside a thousand records, and a chat of 100.

`--size` is the largest number of records [1,000,000]; the longest chat has a tenth of it. Folders are built once, by `data_folders.py`.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any  # answers are JSON
from urllib.request import Request, urlopen

from anycowork.domain.model import Chunk, ModelRequest, ReplyFinished, TextChunk, UsageChunk
from data_folders import fill_data_folder
from measuring import Ground, Leg, NotMeasured, cpu_seconds_of, environment_of_ours, pss_megabytes_of
from startup import IDLE_SECONDS, served
from workplace import LOOK_UP, InstantModel, open_workplace

QUESTION = "CPU and memory of a start, sidebar, open, scroll, search, audit and export, by the number of records; of a turn, by a chat's length"
RECORDS, SMALLEST, MESSAGES_OF_A_CHAT = 1_000_000, 1_000, 100
TIMEOUT = 600.0
REQUESTS, TURNS = 20, 12
SENTENCES_OF_A_FULL_CONTEXT = 12  # in each of 100 messages: then they fill the context of the model as a long chat does
_VERIFY = """import resource, runpy, sys
sys.argv = ["anycowork", "audit", "verify", *sys.argv[2:], "--data-dir", sys.argv[1]]
try:
    runpy.run_module("anycowork.cli.main", run_name="__main__")
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)  # not its memory: that of the process before exec counts there
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
    print(used.ru_utime + used.ru_stime, int(peak) / 1024, file=sys.stderr)
"""


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    largest = ground.size or RECORDS
    with ExitStack() as folders:
        found: dict[str, Leg] = {}
        for count in _sizes(SMALLEST, largest):
            folder = folders.enter_context(ground.fresh(f"records-{count}"))
            asyncio.run(fill_data_folder(folder, chats=count // MESSAGES_OF_A_CHAT, messages=MESSAGES_OF_A_CHAT))
            found[f"records_{count}"] = partial(_records, folder)
        for count in _sizes(SMALLEST // 10, largest // 10):
            folder = folders.enter_context(ground.fresh(f"chat-{count}"))
            (chat_id,) = asyncio.run(fill_data_folder(folder, chats=1, messages=count))
            found[f"chat_{count}"] = partial(_chat, folder, chat_id)
            found[f"turn_{count}"] = partial(_turn, ground, count)
        found["turn_100_full"] = partial(_turn, ground, 100, SENTENCES_OF_A_FULL_CONTEXT)
        yield found


def _sizes(first: int, last: int) -> Iterator[int]:
    while first <= last:
        yield first
        first *= 10


def _records(folder: Path) -> dict[str, float]:
    """A server over many chats, and the audit log of all of them."""
    found = {"database_mb": (folder / "data" / "anycowork.db").stat().st_size / 2**20}
    with served(folder) as (process, url):
        found["start_cpu_s"] = cpu_seconds_of(process.pid)
        time.sleep(IDLE_SECONDS)
        found["idle_mb"] = pss_megabytes_of(process.pid)
        ask = Asker(folder, url, (process.pid,))
        found["sidebar_cpu_ms"] = ask.cpu_ms("/context?limit=50")
        found["search_cpu_ms"] = ask.cpu_ms("/search?q=station+report&limit=20")
        found["peak_mb"] = ask.peak_mb()
    found |= {f"verify_first_{unit}": value for unit, value in verify_audit(folder).items()}
    found |= {f"verify_again_{unit}": value for unit, value in verify_audit(folder).items()}
    return found | {f"verify_full_{unit}": value for unit, value in verify_audit(folder, "--full").items()}


def _chat(folder: Path, chat_id: str) -> dict[str, float]:
    """A server with one chat: its newest page, pages far back, and its exports."""
    found: dict[str, float] = {}
    with served(folder) as (process, url):
        ask = Asker(folder, url, (process.pid,))
        path = f"/context/{chat_id}"
        found["open_cpu_ms"] = ask.cpu_ms(f"{path}/messages?limit=50")
        found["scroll_cpu_ms"] = ask.cpu_ms(f"{path}/messages?limit=50&before=60")
        found["search_cpu_ms"] = ask.cpu_ms("/search?q=station+report&limit=20")
        for wanted in ("json", "markdown", "html"):
            found[f"export_{wanted}_cpu_s"] = ask.cpu_ms(f"{path}/export?format={wanted}", times=1) / 1000
        found["peak_mb"] = ask.peak_mb()
    return found


class Asker:
    """Sends requests to a server, and tells what they cost it and the processes that work for it; `pids` begins with the server's."""

    def __init__(self, folder: Path, url: str, pids: Sequence[int]) -> None:
        self._headers = {"Authorization": f"Bearer {(folder / 'data' / 'token').read_text().strip()}"}
        self._url, self._pids = url, pids

    def json(self, path: str) -> Any:
        with urlopen(Request(self._url + path, headers=self._headers), timeout=TIMEOUT) as answer:
            return json.load(answer)

    def cpu_ms(self, path: str, times: int = REQUESTS) -> float:
        before = self._cpu_seconds()
        for _ in range(times):
            with urlopen(Request(self._url + path, headers=self._headers), timeout=TIMEOUT) as answer:
                while answer.read(1 << 20):
                    pass
        return (self._cpu_seconds() - before) / times * 1000

    def _cpu_seconds(self) -> float:
        return sum(map(cpu_seconds_of, self._pids[:1])) + sum(map(_cpu_seconds_of_family, self._pids[1:]))

    def peak_mb(self) -> float:
        lines = Path(f"/proc/{self._pids[0]}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def _cpu_seconds_of_family(pid: int) -> float:
    """CPU seconds of a process and of the children that live."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_seconds_of(pid) + sum(_cpu_seconds_of_family(int(child)) for child in children)


def verify_audit(folder: Path, *flags: str, **environment: str) -> dict[str, float]:
    """CPU and peak memory of `anycowork audit verify`, in a process of its own."""
    words = [sys.executable, "-c", _VERIFY, str(folder / "data"), *flags]
    env = environment_of_ours() | environment
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, env=env)
    if done.returncode != 0:
        raise NotMeasured(f"audit verify {' '.join(flags)} failed: {done.stderr[-200:]}")
    spent, peak = done.stderr.split()[-2:]
    return {"cpu_s": float(spent), "mb": float(peak)}


def _turn(ground: Ground, messages: int, sentences: int = 4) -> dict[str, float]:
    """The least CPU of a turn with three calls, in a chat of this length."""

    async def measured(folder: Path) -> float:
        (chat_id,) = await fill_data_folder(
            folder, chats=1, messages=messages, database="anycowork.db", sentences=sentences
        )
        async with open_workplace(folder, _ThreeCalls()) as place:
            await place.turn(await place.open_chat())  # the first turn of a server loads what later ones use
            chat = await place.database.store.chats.find(chat_id)
            assert chat is not None
            return min([await _cpu_of(lambda: place.turn(chat)) for _ in range(TURNS)])

    with ground.fresh(f"turn-{messages}") as folder:
        return {"cpu_ms": asyncio.run(measured(folder)) * 1000}


async def _cpu_of(work: Callable[[], object]) -> float:
    before = time.process_time()
    await work()  # type: ignore[misc]  # a coroutine
    return time.process_time() - before


class _ThreeCalls:
    """Calls a tool three times in each turn, whatever the chat holds before it."""

    name = "instant"

    def __init__(self) -> None:
        self._calls = InstantModel(3, LOOK_UP, {"word": "word{number}"})

    async def answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        made = 0  # counted from the end: what the model costs must not depend on the length of the chat
        for said in reversed(request.messages):
            if "Look all the words up" in said.content:
                break
            made += said.role == "assistant"
        yield TextChunk(self._calls.reply(made))
        yield UsageChunk(prompt=500, completion=40)
        yield ReplyFinished("stop")
