"""What was acknowledged survives: the log is synced first, a kill loses nothing, a full disk or a locked database heals."""

import asyncio
import signal
import socket
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import IO

import pytest

from anycowork.domain.errors import StorageFault
from anycowork.domain.events import EventType, Record
from anycowork.domain.journal import Change, Compact
from anycowork.store.sqlite.database import open_store
from support import storechild
from support.processes import ready_to_read
from support.spec import proves
from support.stored import CLOCK, SOON, add_chat, body, opened, said
from support.syncwatch import HeldCall, SyncWatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches Linux system calls")


@pytest.fixture
def children() -> Iterator[list[Popen[str]]]:
    started: list[Popen[str]] = []
    yield started
    for child in started:
        child.kill()
        child.wait(timeout=SOON)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


class Watched:
    """A writing child that is stopped at each sync."""

    def __init__(self, child: Popen[str], watch: SyncWatch) -> None:
        assert child.stdin is not None and child.stdout is not None
        self.stdin: IO[str] = child.stdin
        self.stdout: IO[str] = child.stdout
        self.watch = watch

    def tell(self, word: str) -> None:
        self.stdin.write(f"{word}\n")
        self.stdin.flush()

    def next(self) -> HeldCall | str:
        """The next sync, held, or the next line: whichever comes first."""
        ready = ready_to_read(self.watch.listener, self.stdout, seconds=SOON)
        assert ready, "neither a sync nor a word in time"
        return self.watch.next() if self.watch.listener in ready else self.stdout.readline().strip()

    def read_until(self, line: str) -> None:
        while (happened := self.next()) != line:
            if isinstance(happened, HeldCall):
                self.watch.let_go(happened)


@proves("MSG-4")
def test_no_message_is_acknowledged_before_its_log_is_synced(tmp_path: Path, children: list[Popen[str]]) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(SOON)
    with ours, theirs:
        children.append(storechild.start("write-when-told", tmp_path, pass_fd=theirs.fileno()))
        watched = Watched(children[0], SyncWatch.received_from(ours))
    watched.read_until("ready")
    for word in ("first", "second"):
        watched.tell(word)
        syncs = 0
        while isinstance(held := watched.next(), HeldCall):
            syncs += 1
            assert held.path == tmp_path / "anycowork.db-wal"
            assert f"content of {word}".encode() in held.path.read_bytes()
            watched.tell("ping")
            assert watched.stdout.readline() == "pong\n", "acknowledged while the sync had not happened"
            watched.watch.let_go(held)
        assert held == f"acknowledged {word}" and syncs >= 1
    watched.watch.close()


@proves("MSG-4")
async def test_after_a_kill_every_acknowledged_message_is_there_and_no_number_is_given_again(
    tmp_path: Path, children: list[Popen[str]]
) -> None:
    child = storechild.start("write-for-ever", tmp_path)
    children.append(child)
    assert child.stdout is not None
    lines: list[str] = []
    for line in child.stdout:
        lines.append(line)
        if len(lines) == 3000:
            child.send_signal(signal.SIGKILL)
    facts = [line.split() for line in lines if line.endswith("\n")]
    acknowledged = [(chat_id, name) for what, chat_id, name in facts if what == "acknowledged"]
    shown = {
        f"c{n}": [int(seq) for what, chat_id, seq in facts if what == "shown" and chat_id == f"c{n}"] for n in range(4)
    }
    assert len(acknowledged) > 300

    async with opened(tmp_path) as database:
        assert not database.ended_cleanly
        for chat_id, numbers in shown.items():
            assert numbers == sorted(set(numbers))
            there = {m.id for m in await database.store.messages.all(chat_id)}
            assert {name for acknowledged_in, name in acknowledged if acknowledged_in == chat_id} <= there
            assert await database.store.audit.verify_chat(chat_id) is None
            await database.journal.write(said("afterwards", chat_id=chat_id))
            new = await database.store.records.after(chat_id, numbers[-1], 1000)
            assert body(new[-1])["message"]["id"] == "afterwards"  # type: ignore[index,call-overload]


@proves("OPS-2")
async def test_a_full_disk_fails_clearly_loses_nothing_acknowledged_and_heals(
    tmp_path: Path, children: list[Popen[str]]
) -> None:
    child = storechild.start("fill-the-disk", tmp_path)
    children.append(child)
    output, _ = child.communicate(timeout=SOON * 4)
    lines = output.splitlines()
    assert child.returncode == 0 and lines[-2:] == ["acknowledged healed", "chain None"]
    failures = [line for line in lines if line.startswith("failed")]
    assert len(failures) >= 3 and "nothing of this request was kept" in failures[0]
    acknowledged = {line.split()[1] for line in lines if line.startswith("acknowledged")}
    async with opened(tmp_path) as database:
        assert database.ended_cleanly
        assert {m.id for m in await database.store.messages.all("c1")} == acknowledged
        assert await database.store.audit.verify_chat("c1") is None


@proves("OPS-2")
async def test_a_locked_database_fails_clearly_keeps_what_was_said_and_heals(tmp_path: Path) -> None:
    shown: list[Record] = []
    database = open_store(tmp_path / "a.db", CLOCK, shown.append, busy_seconds=0.01)
    await database.journal.write(add_chat())
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    database.journal.publish_delta("c1", "t1", "m1", EventType.TEXT_DELTA, 0, "hello")
    outcomes = await asyncio.gather(
        database.journal.write(said("m0")),
        database.journal.write(Change("c1", (*said("m1").writes, Compact("m1")))),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [StorageFault, StorageFault]
    assert [r.type for r in shown] == [EventType.TEXT_DELTA]
    assert [u.text for u in await database.store.records.unfinished_text("c1", "t1")] == ["hello"]
    other.execute("ROLLBACK")
    other.close()
    await database.journal.write(said("m2"))
    assert [m.id for m in await database.store.messages.all("c1")] == ["m2"]
    await database.aclose()
    again = open_store(tmp_path / "a.db", CLOCK, shown.append)
    assert [u.text for u in await again.store.records.unfinished_text("c1", "t1")] == ["hello"]
    await again.aclose()
