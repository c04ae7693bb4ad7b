"""Meters models: limits, prices and the account of each client key, and the records of what was used. Pure; the time is a parameter.

Money is in whole billionths of a dollar, so that sums stay exact; the boundaries use dollars.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from math import ceil

from anycowork.domain.values import mutable_value, value

NANOS = 1_000_000_000
MINUTE = 60.0


class KeyLimit(StrEnum):
    REQUESTS_PER_MINUTE = "requests_per_minute"
    TOKENS_PER_DAY = "tokens_per_day"
    SPEND_PER_DAY = "spend_per_day"


@value
class KeyLimits:
    """The limits of a key; None means no limit. A day is a UTC day; `spend_per_day` is in billionths of a dollar."""

    requests_per_minute: int | None = None
    tokens_per_day: int | None = None
    spend_per_day: int | None = None

    @property
    def bound_use(self) -> bool:
        """Whether they limit tokens or money, not only the number of requests."""
        return self.tokens_per_day is not None or self.spend_per_day is not None


MOST_REPORTED = (
    10**10
)  # tokens of one request: far more than any model takes, and millions of them can still be summed up


def reported_tokens(count: object) -> int:
    """Returns a count that a provider reported, within bounds; 0 if it is not a number. A wrong count must not break the accounts."""
    return min(max(0, count), MOST_REPORTED) if isinstance(count, int) and not isinstance(count, bool) else 0


@value
class TokenUsage:
    """Tokens of one request. Cached tokens are part of the prompt, reasoning tokens are part of the completion."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


@value
class ExpectedUse:
    """The maximum use of a request. Not `bounded`: it names no limit, so `completion` is a guess and less is acceptable."""

    prompt: int
    completion: int
    bounded: bool


@value
class Price:
    """US dollars for a million tokens. `cached` is the price of cached prompt tokens; None means the full price.

    Not `exact`: the model is not listed, and this is the highest price of its provider.
    """

    input: float
    output: float
    cached: float | None = None
    exact: bool = True

    def of(self, used: TokenUsage) -> int:
        """Returns the cost in billionths of a dollar, rounded up."""
        cached = min(used.cached, used.prompt)
        cached_price = self.input if self.cached is None else self.cached
        return ceil(
            ((used.prompt - cached) * self.input + cached * cached_price + used.completion * self.output) * 1000
        )


def price_of(model: str | None, prices: Mapping[str, Price]) -> Price | None:
    """Returns the model's price at a provider with these prices; None if it has none.

    Case and outer spaces are ignored, and a model that is not listed costs as much as the most expensive one: otherwise another
    spelling of the same model would be free.
    """
    if not prices:
        return None
    folded_model = (model or "").strip().casefold()
    for name, price in prices.items():
        if name.casefold() == folded_model:
            return price
    highest = max(price.input for price in prices.values()), max(price.output for price in prices.values())
    return Price(*highest, exact=False)


@mutable_value
class DailyUsage:
    """The use of one key on one day. `estimated` are tokens that the provider did not report; `unpriced` are requests without a known price.

    Reserved amounts belong to running requests. They count until the request is settled, and for good if the server dies first.
    """

    key_id: str
    date: str
    requests: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: int = 0
    spend: int = 0
    unpriced: int = 0
    reserved_prompt: int = 0
    reserved_completion: int = 0
    reserved_spend: int = 0
    last_used_at: str | None = None

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    @property
    def reserved(self) -> int:
        return self.reserved_prompt + self.reserved_completion


@value
class Reservation:
    """The amount reserved for one request, on the day it began."""

    day: DailyUsage
    granted: TokenUsage
    price: Price | None
    cost: int

    def settle(self, used: TokenUsage) -> None:
        """Releases the reservation and counts the actual use. Call it once."""
        day = self.day
        day.reserved_prompt -= self.granted.prompt
        day.reserved_completion -= self.granted.completion
        day.reserved_spend -= self.cost
        day.prompt += used.prompt
        day.completion += used.completion
        day.cached += used.cached
        day.reasoning += used.reasoning
        if used.estimated or (self.price is not None and not self.price.exact):
            day.estimated += used.tokens
        if self.price is None:
            day.unpriced += used.tokens > 0
            return
        day.spend += self.price.of(used)


@value
class ExceededLimit:
    """The limit that a request would exceed. `seconds` until it may pass; None means tomorrow. `needed` and `left` are in the limit's unit."""

    limit: KeyLimit
    allowed: int
    needed: int
    left: int
    seconds: int | None = None


SOON = 1  # second: the missing amount is reserved for running requests and may be released at any time


@value
class DayRest:
    """What the limits of a person and their groups leave of the day; None where none of them holds. `spend` is in billionths of a dollar."""

    tokens: int | None = None
    spend: int | None = None


@mutable_value
class Account:
    """The limits of one key, and its use today and in the last minute. `payer` is the id of the person who made it.

    `rest` is what the limits of that person leave; None if there are none.
    """

    limits: KeyLimits
    today: DailyUsage
    payer: str = ""
    rest: DayRest | None = None
    _recent: deque[float] = field(default_factory=deque)

    @property
    def bounds_use(self) -> bool:
        """Whether limits of tokens or money hold, those of the key or of who pays."""
        return self.limits.bound_use or self.rest is not None

    def reserve(
        self, expected: ExpectedUse, price: Price | None, *, date: str, clock: float, now: str
    ) -> Reservation | ExceededLimit:
        """Reserves the maximum use of the request, or returns the limit that forbids it. `clock` is a monotonic time in seconds."""
        granted = self._granted(expected, price, date)
        exceeded = self.forbids(granted, price, date=date, clock=clock)
        if exceeded is not None:
            return exceeded
        cost = price.of(granted) if price else 0
        if self.limits.requests_per_minute is not None:
            self._recent.append(clock)
        day = self.today
        day.requests += 1
        day.last_used_at = now
        day.reserved_prompt += granted.prompt
        day.reserved_completion += granted.completion
        day.reserved_spend += cost
        return Reservation(day, granted, price, cost)

    def forbids(self, use: TokenUsage, price: Price | None, *, date: str, clock: float) -> ExceededLimit | None:
        """Returns the limit that a request of this use would exceed now; reserves nothing."""
        self._begin_day(date)
        return self._too_often(clock) or self._too_much(use.tokens, price.of(use) if price else None)

    def _begin_day(self, date: str) -> None:
        if self.today.date != date:
            self.today = DailyUsage(self.today.key_id, date)

    def _granted(self, expected: ExpectedUse, price: Price | None, date: str) -> TokenUsage:
        """Returns what to reserve. A request without a bound gets the guess, or the rest of the day if that is less, but at least one
        token."""
        self._begin_day(date)
        if expected.bounded:
            return TokenUsage(expected.prompt, expected.completion, estimated=True)
        day, limits, completion = self.today, self.limits, expected.completion
        if limits.tokens_per_day is not None:
            completion = min(completion, limits.tokens_per_day - day.tokens - day.reserved - expected.prompt)
        if limits.spend_per_day is not None and price is not None and price.output > 0:
            remaining = limits.spend_per_day - day.spend - day.reserved_spend - price.of(TokenUsage(expected.prompt))
            completion = min(completion, int(remaining / (price.output * 1000)))
        if self.rest is not None and self.rest.tokens is not None:
            completion = min(completion, self.rest.tokens - expected.prompt)
        if self.rest is not None and self.rest.spend is not None and price is not None and price.output > 0:
            remaining = self.rest.spend - price.of(TokenUsage(expected.prompt))
            completion = min(completion, int(remaining / (price.output * 1000)))
        return TokenUsage(expected.prompt, max(1, completion), estimated=True)

    def _too_often(self, clock: float) -> ExceededLimit | None:
        allowed, recent = self.limits.requests_per_minute, self._recent
        if allowed is None:
            return None
        while recent and recent[0] <= clock - MINUTE:
            recent.popleft()
        if len(recent) < allowed:
            return None
        wait = max(1, ceil(recent[0] + MINUTE - clock))
        return ExceededLimit(KeyLimit.REQUESTS_PER_MINUTE, allowed, needed=1, left=0, seconds=wait)

    def _too_much(self, tokens: int, cost: int | None) -> ExceededLimit | None:
        day, limits = self.today, self.limits
        if limits.tokens_per_day is not None:
            exceeded = _over(KeyLimit.TOKENS_PER_DAY, limits.tokens_per_day, tokens, day.tokens, day.reserved)
            if exceeded is not None:
                return exceeded
        if limits.spend_per_day is not None and cost is not None:
            return _over(KeyLimit.SPEND_PER_DAY, limits.spend_per_day, cost, day.spend, day.reserved_spend)
        return None


def _over(limit: KeyLimit, allowed: int, needed: int, spent: int, reserved: int) -> ExceededLimit | None:
    remaining = allowed - spent - reserved
    if needed <= max(0, remaining):
        return None
    soon = SOON if reserved > 0 and needed <= allowed - spent else None
    return ExceededLimit(limit, allowed, needed=needed, left=max(0, remaining), seconds=soon)


@value
class ModelUsage:
    """`model` with its provider as prefix. `reserved` belongs to requests that never reported their use: it counts as spent."""

    model: str
    requests: int
    reserved: int
    prompt: int
    completion: int
    cached: int
    reasoning: int
    estimated: bool


@value
class TurnUsage:
    """What turns of a job have used, and the task that they worked on."""

    task_id: str | None
    seconds: float
    models: tuple[ModelUsage, ...] = ()


@value
class ChatUsage:
    """`window` is how much of the model's context the newest settled request filled: prompt and answer."""

    models: tuple[ModelUsage, ...] = ()
    window: int = 0


class UsageGroup(StrEnum):
    """What a report of use is summed up by."""

    CHAT = "chat"
    JOB = "job"
    ROLE = "role"
    MODEL = "model"
    DAY = "day"
    PERSON = "person"
    GROUP = "group"


@value
class GroupedUsage:
    """What one chat, job, role, model or day used of one model."""

    key: str
    used: ModelUsage
