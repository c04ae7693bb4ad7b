"""Browser sessions: codes that work once, and what a restart or a new token does to them."""

import stat
from pathlib import Path

import pytest

from anycowork.server.browser_sessions import CODE_SECONDS, MAX_SESSIONS, SESSIONS_FILE, BrowserSessions
from anycowork.server.clock import SystemClock
from support.spec import proves

TOKEN = "a-token"


class TestClock(SystemClock):
    __test__ = False
    ahead = 0.0
    today = "2030-01-01T00:00:00.000000Z"

    def monotonic(self) -> float:
        return self.ahead

    def now(self) -> str:
        return self.today


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


async def test_a_code_works_once_and_for_a_minute(tmp_path: Path, clock: TestClock) -> None:
    sessions = BrowserSessions(tmp_path, TOKEN, clock)
    early, late = sessions.offer().code, sessions.offer().code
    assert await sessions.redeem(early) is not None
    assert await sessions.redeem(early) is None
    clock.ahead = CODE_SECONDS + 1
    assert await sessions.redeem(late) is None
    assert await sessions.redeem("guess") is None


async def test_an_offer_that_nobody_redeemed_opens_nothing(tmp_path: Path, clock: TestClock) -> None:
    sessions = BrowserSessions(tmp_path, TOKEN, clock)
    session = sessions.offer().session
    assert sessions.find(session.cookie, session.page_key) is None


@proves("SEC-2")
async def test_a_restart_keeps_sessions_and_the_file_holds_no_secret(tmp_path: Path, clock: TestClock) -> None:
    session = await BrowserSessions(tmp_path, TOKEN, clock).begin()
    file = tmp_path / SESSIONS_FILE
    assert session.cookie not in file.read_text() and session.page_key not in file.read_text()
    assert TOKEN not in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600
    again = BrowserSessions(tmp_path, TOKEN, clock)
    assert again.find(session.cookie, session.page_key) is not None
    stored = again.find(session.cookie, session.page_key)
    assert stored is not None
    await again.end(stored.node)
    assert BrowserSessions(tmp_path, TOKEN, clock).find(session.cookie, session.page_key) is None


async def test_a_new_token_ends_every_session(tmp_path: Path, clock: TestClock) -> None:
    session = await BrowserSessions(tmp_path, TOKEN, clock).begin()
    assert BrowserSessions(tmp_path, "another", clock).find(session.cookie, session.page_key) is None


async def test_a_session_ends_after_half_a_year(tmp_path: Path, clock: TestClock) -> None:
    sessions = BrowserSessions(tmp_path, TOKEN, clock)
    session = await sessions.begin()
    clock.today = "2030-06-29T00:00:00.000000Z"
    assert sessions.find(session.cookie, session.page_key) is not None
    clock.today = "2030-07-02T00:00:00.000000Z"
    assert sessions.find(session.cookie, session.page_key) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"token_mark": 1}', b"\xff"])
async def test_a_damaged_file_signs_everybody_out_and_stops_nothing(
    tmp_path: Path, clock: TestClock, content: bytes
) -> None:
    (tmp_path / SESSIONS_FILE).write_bytes(content)
    session = await BrowserSessions(tmp_path, TOKEN, clock).begin()
    assert BrowserSessions(tmp_path, TOKEN, clock).find(session.cookie, session.page_key) is not None


async def test_the_oldest_sessions_give_way(tmp_path: Path, clock: TestClock) -> None:
    sessions = BrowserSessions(tmp_path, TOKEN, clock)
    first = await sessions.begin()
    for _ in range(MAX_SESSIONS):
        last = await sessions.begin()
    assert sessions.find(first.cookie, first.page_key) is None
    assert sessions.find(last.cookie, last.page_key) is not None
