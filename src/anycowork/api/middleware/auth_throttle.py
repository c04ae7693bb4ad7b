"""Slows down token guessing: each wrong token of a peer takes longer. Other peers and correct tokens never wait."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anycowork.domain.ports import Clock

Sleep = Callable[[float], Awaitable[None]]
SHORTEST_SECONDS, LONGEST_SECONDS, FORGOTTEN_SECONDS = 0.1, 2.0, 60.0


@dataclass(slots=True)
class _Tries:
    wrong: int
    last: float


class AuthThrottle:
    """Delays double from the shortest to the longest; a peer without failures for a while starts again.

    A right token in between changes nothing: on one machine the guesser and the owner are the same peer.
    """

    def __init__(
        self,
        clock: Clock,
        sleep: Sleep,
        *,
        peers: int = 1024,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._peers = peers
        self._tries: OrderedDict[str, _Tries] = OrderedDict()

    async def after_wrong(self, peer: str) -> None:
        """Count the failure at once, so that parallel attempts gain nothing; then wait."""
        await self._sleep(self._count(peer))

    def _count(self, peer: str) -> float:
        now = self._clock.monotonic()
        tries = self._tries.pop(peer, None)
        if tries is None or now - tries.last > FORGOTTEN_SECONDS:
            tries = _Tries(wrong=0, last=now)
        tries.wrong, tries.last = tries.wrong + 1, now
        self._tries[peer] = tries
        while len(self._tries) > self._peers:
            self._tries.popitem(last=False)
        return float(min(LONGEST_SECONDS, SHORTEST_SECONDS * 2 ** min(tries.wrong - 1, 30)))
