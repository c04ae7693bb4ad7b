"""Guessing a token gets slower with every wrong try of the same peer. Nobody else waits, and a right token never does."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anycowork.domain.ports import Clock

Sleep = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class _Tries:
    wrong: int
    last: float


class Slowdown:
    """Delays double from `first` to `longest` seconds; a peer that keeps quiet for `forget` seconds starts anew.

    A right token in between changes nothing: on one machine the guesser and the owner are the same peer.
    """

    def __init__(
        self,
        clock: Clock,
        sleep: Sleep,
        *,
        first: float = 0.1,
        longest: float = 2.0,
        forget: float = 60.0,
        peers: int = 1024,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._first, self._longest, self._forget, self._peers = first, longest, forget, peers
        self._tries: OrderedDict[str, _Tries] = OrderedDict()

    async def after_wrong(self, peer: str) -> None:
        """Counts at once, so that tries side by side gain nothing; then waits."""
        await self._sleep(self._count(peer))

    def _count(self, peer: str) -> float:
        now = self._clock.monotonic()
        tries = self._tries.pop(peer, None)
        if tries is None or now - tries.last > self._forget:
            tries = _Tries(wrong=0, last=now)
        tries.wrong, tries.last = tries.wrong + 1, now
        self._tries[peer] = tries
        while len(self._tries) > self._peers:
            self._tries.popitem(last=False)
        return float(min(self._longest, self._first * 2 ** min(tries.wrong - 1, 30)))
