"""What client keys used, on a real file: written in groups, found again, and what a crash left open counted as used."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from anycowork.domain.errors import StorageFault
from anycowork.domain.metering import Account, DailyUsage, ExpectedUse, KeyLimits, TokenUsage
from anycowork.store.sql import ledger
from anycowork.store.sql.ledger import read_limits, write_limits
from support.stored import SOON, held, opened, until

DATE = "2026-11-15"


def used(prompt: int) -> DailyUsage:
    return DailyUsage("k1", DATE, requests=1, prompt=prompt, last_used_at=f"{DATE}T08:00:00Z")


async def test_totals_know_what_is_just_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "FLUSH_SECONDS", 0.0)
    async with opened(tmp_path) as database:
        with held(database.writer) as gate:
            database.ledger.changed(used(5))
            entered = asyncio.Event()
            asyncio.get_running_loop().call_later(0.0, entered.set)  # after the ledger's own, which was due before
            await entered.wait()
            async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
                asked = tasks.create_task(database.ledger.totals())
                await asyncio.sleep(0)
                gate.set()
        assert asked.result()["k1"].requests == used(5).requests


async def test_many_changes_are_one_write(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        before, day = database.writer.tally.works, used(0)
        for _ in range(1000):
            day.prompt += 1
            database.ledger.changed(day)
        await until(lambda: database.writer.tally.works > before)
        assert database.writer.tally.works == before + 1
        assert (await database.ledger.day("k1", DATE)).prompt == 1000


async def test_what_was_set_aside_when_the_server_died_counts_as_used(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        account = await database.ledger.account("k1", DATE)
        account.reserve(ExpectedUse(10, 20, bounded=True), None, date=DATE, clock=0.0, now="t")
        database.ledger.changed(account.today)
        await database.ledger.totals()
        (tmp_path / "copy").mkdir()
        copy = sqlite3.connect(tmp_path / "copy" / "anycowork.db")
        sqlite3.connect(tmp_path / "anycowork.db").backup(copy)  # as a crash would leave it
        copy.close()
    async with opened(tmp_path / "copy") as database:
        day = await database.ledger.day("k1", DATE)
        assert (day.prompt, day.completion, day.estimated, day.reserved) == (10, 20, 30, 0)


async def test_a_write_that_fails_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(tmp_path) as database:
        locking = sqlite3.connect(tmp_path / "anycowork.db", isolation_level=None)
        database._connection.execute("PRAGMA busy_timeout = 0")
        locking.execute("BEGIN IMMEDIATE")
        database.ledger.changed(used(5))
        with pytest.raises(StorageFault):
            await database.ledger.totals()
        locking.execute("ROLLBACK")
        locking.close()
        assert "trying again" in caplog.text
        assert (await database.ledger.totals())["k1"].prompt == 5


async def test_a_change_during_a_write_is_written_next(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        day = used(1)
        with held(database.writer):
            database.ledger.changed(day)
            database.ledger._flush()
            day.prompt = 2
            database.ledger.changed(day)
        assert (await database.ledger.totals())["k1"].prompt == 2


def test_limits_are_read_leniently() -> None:
    assert read_limits(write_limits(KeyLimits(tokens_per_day=5))) == KeyLimits(tokens_per_day=5)
    assert write_limits(KeyLimits()) is None and read_limits(None) == KeyLimits()
    assert read_limits('{"tokens_per_day": "x", "later": 1}') == KeyLimits()


def test_settling_gives_back_what_was_set_aside() -> None:
    account = Account(KeyLimits(), DailyUsage("k", DATE))
    reservation = account.reserve(ExpectedUse(10, 20, bounded=True), None, date=DATE, clock=0.0, now="t")
    assert account.today.reserved == 30
    reservation.settle(TokenUsage(1, 2))  # type: ignore[union-attr]
    assert (account.today.reserved, account.today.tokens) == (0, 3)
