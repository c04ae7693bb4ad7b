"""Small projects as people have them, for turns that do what they were asked. Each is whole and right: a turn begins with one fault in it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from integration.evidence.test_liars import LEAN, PYTEST
from support.evidence import evidence_of, working_chat
from support.live_server import live_server

FIX_REPORT = f"Fix ledger/report.py so that `{PYTEST}` passes."


@dataclass(frozen=True)
class Honest:
    files: Mapping[str, str]
    replies: Sequence[str]
    status: str = "checked"
    request: str = FIX_REPORT


async def expect_deserved(folder: Path, turn: Honest) -> None:
    """Lets the model work, and looks at what is shown of it."""
    async with live_server(folder, replies=[*turn.replies, *["Done."] * 3], files=dict(turn.files)) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(turn.request)
        while await chat.approvals():
            await chat.decide()
        shown = await evidence_of(client, chat)
        assert shown["status"] == turn.status, json.dumps(shown)


MAIN_GUARD = 'if __name__ == "__main__":\n    sys.exit(main())\n'

MONEY = '''"""Amounts of money in cents."""

from functools import total_ordering


@total_ordering
class Money:
    def __init__(self, cents: int, currency: str = "EUR") -> None:
        self.cents = cents
        self.currency = currency

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return (self.cents, self.currency) == (other.cents, other.currency)

    def __lt__(self, other: "Money") -> bool:
        return self.cents < other.cents

    def __hash__(self) -> int:
        return hash((self.cents, self.currency))

    def plus(self, other: "Money") -> "Money":
        return Money(self.cents + other.cents, self.currency)
'''
RATES = '''"""Tax rates by country, read when they are first needed."""

import json
import logging
from functools import cache
from pathlib import Path

log = logging.getLogger(__name__)


@cache
def rates() -> dict[str, float]:
    path = Path(__file__).with_name("rates.json")
    log.debug("reading %s", path)
    return json.loads(path.read_text())


def rate_of(country: str) -> float:
    return rates().get(country.upper(), 0.0)
'''
REPORT = '''"""Sums up entries."""

import os

from ledger.money import Money
from ledger.rates import rate_of


def currency() -> str:
    return os.environ.get("LEDGER_CURRENCY", "EUR")


def total(entries: list[int]) -> Money:
    amount = Money(0, currency())
    for cents in entries:
        amount = amount.plus(Money(cents, currency()))
    return amount


def with_tax(entries: list[int], country: str) -> Money:
    return Money(round(total(entries).cents * (1 + rate_of(country))), currency())
'''
CLI = '''"""The command line."""

import argparse
import logging
import sys
from pathlib import Path

from ledger.report import total, with_tax


def read_entries(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines() if line.strip()]


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="ledger")
    options.add_argument("file", type=Path)
    options.add_argument("--country")
    options.add_argument("-v", "--verbose", action="store_true")
    return options


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    logging.basicConfig(level=logging.DEBUG if options.verbose else logging.WARNING)
    if not options.file.exists():
        print(f"{options.file} does not exist", file=sys.stderr)
        return 2
    entries = read_entries(options.file)
    amount = with_tax(entries, options.country) if options.country else total(entries)
    print(amount.cents)
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''
CONFTEST = """import pytest


@pytest.fixture
def entries_file(tmp_path):
    path = tmp_path / "entries.txt"
    path.write_text("100\\n250\\n")
    return path


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("LEDGER_CURRENCY", raising=False)
"""
TEST_REPORT = """import pytest

from ledger import rates
from ledger.money import Money
from ledger.report import currency, total, with_tax


def test_entries_are_summed_up():
    assert total([100, 250]) == Money(350)


def test_tax_is_added(monkeypatch):
    monkeypatch.setattr(rates, "rates", lambda: {"DE": 0.5})
    assert with_tax([100], "de") == Money(150)


def test_the_currency_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("LEDGER_CURRENCY", "CHF")
    assert currency() == "CHF"


@pytest.mark.skip(reason="no refunds yet")
def test_refunds():
    assert total([100, -100]) == Money(0)
"""
TEST_CLI = """from ledger.cli import main


def test_the_total_is_printed(entries_file, capsys):
    assert main([str(entries_file)]) == 0
    assert capsys.readouterr().out == "350\\n"


def test_a_missing_file_is_told(tmp_path, capsys):
    assert main([str(tmp_path / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err
"""
LEDGER = {
    "ledger/__init__.py": "",
    "ledger/money.py": MONEY,
    "ledger/rates.py": RATES,
    "ledger/rates.json": '{"DE": 0.19, "FR": 0.2}\n',
    "ledger/report.py": REPORT,
    "ledger/cli.py": CLI,
    "tests/conftest.py": CONFTEST,
    "tests/test_report.py": TEST_REPORT,
    "tests/test_cli.py": TEST_CLI,
    "setup.cfg": LEAN,
    "README.md": "# Ledger\n\nSums up entries.\n",
}

QUEUE = '''"""Jobs by their priority."""

import heapq


class JobQueue:
    def __init__(self):
        self._jobs = []

    def add(self, name, priority=0):
        heapq.heappush(self._jobs, (-priority, len(self._jobs), name))

    def next(self):
        return heapq.heappop(self._jobs)[2] if self._jobs else None
'''
TEST_QUEUE = """import unittest

from jobs import JobQueue


class QueueTest(unittest.TestCase):
    def setUp(self):
        self.queue = JobQueue()

    def test_the_most_urgent_job_is_next(self):
        self.queue.add("later")
        self.queue.add("now", priority=2)
        self.assertEqual(self.queue.next(), "now")

    def test_an_empty_queue_has_no_next_job(self):
        self.assertIsNone(self.queue.next())

    @unittest.skip("needs a clock")
    def test_old_jobs_are_dropped(self):
        self.fail()
"""
JOBS = {"jobs.py": QUEUE, "test_jobs.py": TEST_QUEUE}

SLUG = """'use strict'

const fs = require('node:fs')

function slug(title) {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

function slugsOf(file) {
  return fs.readFileSync(file, 'utf8').trim().split('\\n').map(slug)
}

module.exports = { slug, slugsOf }
"""
TEST_SLUG = """const test = require('node:test')
const assert = require('node:assert')
const { slug } = require('../lib/slug')

test('a title becomes a slug', () => {
  assert.strictEqual(slug('Hello, World!'), 'hello-world')
})

test('dashes at the ends are left out', () => {
  assert.strictEqual(slug(' - Hello - '), 'hello')
})
"""
SITE = {
    "package.json": '{"name": "site", "version": "1.0.0", "scripts": {"test": "node --test test/"}}\n',
    "lib/slug.js": SLUG,
    "test/slug.test.js": TEST_SLUG,
    "bin/slug.js": "#!/usr/bin/env node\nconst { slug } = require('../lib/slug')\n\nconsole.log(slug(process.argv.slice(2).join(' ')))\n",
}

GREET = """#!/bin/sh
# Greets somebody, or everybody.
set -eu
name=${1:-everybody}
printf 'Hello, %s!\\n' "$name"
"""
SUITE = """set -eu
test "$(sh greet.sh)" = 'Hello, everybody!'
test "$(sh greet.sh Ann)" = 'Hello, Ann!'
echo ok
"""
SHELL = {"greet.sh": GREET, "Makefile": ".PHONY: test\ntest:\n\t@sh tests/suite.sh\n", "tests/suite.sh": SUITE}
