import asyncio

from hypothesis import given
from hypothesis import strategies as st

from anycowork.api.middleware.auth import AuthThrottle
from support.spec import proves


class Watch:
    """A clock set by hand."""

    def __init__(self):
        self.seconds = 0.0
        self.sleeps = []

    def monotonic(self):
        return self.seconds

    def now(self):
        return "2026-01-01T00:00:00.000000Z"

    def new_id(self):
        return "id"

    async def sleep(self, seconds):
        self.sleeps.append(seconds)


async def test_each_wrong_try_waits_longer_up_to_a_bound():
    watch = Watch()
    slowdown = AuthThrottle(watch, watch.sleep)
    for _ in range(8):
        await slowdown.after_wrong("peer")
    assert watch.sleeps == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]


async def test_another_peer_does_not_wait_for_the_guesser():
    watch = Watch()
    slowdown = AuthThrottle(watch, watch.sleep)
    for peer in ("guesser", "guesser", "other"):
        await slowdown.after_wrong(peer)
    assert watch.sleeps == [0.1, 0.2, 0.1]


async def test_a_long_pause_starts_anew():
    watch = Watch()
    slowdown = AuthThrottle(watch, watch.sleep)
    await slowdown.after_wrong("peer")
    watch.seconds = 61.0
    await slowdown.after_wrong("peer")
    assert watch.sleeps == [0.1, 0.1]


@proves("SEC-1")
async def test_guesses_side_by_side_gain_nothing():
    watch = Watch()
    slowdown = AuthThrottle(watch, watch.sleep)
    await asyncio.gather(*(slowdown.after_wrong("peer") for _ in range(5)))
    assert sorted(watch.sleeps) == [0.1, 0.2, 0.4, 0.8, 1.6]


@given(st.lists(st.text(max_size=3), max_size=60))
def test_no_number_of_peers_fills_the_memory(peers):
    watch = Watch()
    slowdown = AuthThrottle(watch, watch.sleep, peers=5)

    async def guess():
        for peer in peers:
            await slowdown.after_wrong(peer)

    asyncio.run(guess())
    assert len(slowdown._tries) <= 5
    assert all(0 < seconds <= 2.0 for seconds in watch.sleeps)
