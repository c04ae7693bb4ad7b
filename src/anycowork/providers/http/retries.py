"""Retries a request to a model's server: when, after which wait, and what a person is told of the wait."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from email.utils import parsedate_to_datetime

from anycowork.domain.model import Chunk, RetryChunk
from anycowork.domain.provider_errors import ProviderFault
from anycowork.domain.values import value


@value
class Backoff:
    """Times in seconds. Each wait doubles up to `cap`, minus a random half, so that clients do not return all at once.

    If the server names a time, it is respected up to `max_wait`; beyond that there is no retry.
    """

    tries: int = 4
    first: float = 0.5
    cap: float = 30.0
    max_wait: float = 60.0
    dice: Callable[[], float] = random.random

    def wait(self, attempt: int, retry_after: float | None) -> float | None:
        """Returns how long to wait after this attempt (the first is 1) has failed; None if it was the last."""
        if attempt >= self.tries:
            return None
        if retry_after is not None:
            return retry_after if retry_after <= self.max_wait else None
        return min(self.cap, self.first * 2.0 ** (attempt - 1)) * (0.5 + self.dice() / 2)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that a server asks to wait: a number, or a date measured against the server's own clock."""
    for name, unit in (("Retry-After-Ms", 1000.0), ("Retry-After", 1.0)):
        try:
            return max(0.0, float(headers.get(name, "")) / unit)
        except ValueError:
            continue
    until, now = _date(headers.get("Retry-After")), _date(headers.get("Date"))
    return max(0.0, (until - now).total_seconds()) if until and now else None


def _date(text: str | None) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text) if text else None
    except (ValueError, OverflowError):  # the day, hour or minute may be any number
        return None
    return parsed if parsed and parsed.tzinfo else None


class TryAgain(Exception):
    """An attempt failed but a retry may succeed; `fault` is raised if none does, `wait` is what the server asked for, `status` that
    of its answer."""

    def __init__(self, fault: ProviderFault, wait: float | None = None, *, status: int | None = None) -> None:
        super().__init__(fault.message)
        self.fault, self.wait, self.status = fault, wait, status


Sleep = Callable[[float], Awaitable[None]]


async def with_retries(
    attempt: Callable[[], AsyncGenerator[Chunk, None]], backoff: Backoff, *, sleep: Sleep = asyncio.sleep
) -> AsyncGenerator[Chunk, None]:
    """Yields the chunks of the first attempt that begins to answer, and a `RetryChunk` before each wait.

    After its first chunk an attempt is not repeated. Raises: ProviderFault of the last attempt.
    """
    number, begun = 0, False
    while True:
        number += 1
        try:
            async with aclosing(attempt()) as chunks:
                async for chunk in chunks:
                    begun = True
                    yield chunk
            return
        except TryAgain as failed:
            wait = None if begun else backoff.wait(number, failed.wait)
            if wait is None:
                raise failed.fault from None
            announced = RetryChunk(wait, number + 1, backoff.tries, failed.fault.code, failed.status)
        yield announced
        await sleep(wait)
