"""Enforces the limits of client keys: reserves the expected use before a request is forwarded, and settles it after the answer.

Limits of a key are held in memory, in one step of the event loop, so that requests side by side cannot both take the last token. Limits of
who pays are held in the transaction that writes the reservation.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import assert_never

import msgspec

from anycowork.domain.errors import KeyLimitReached, KeyUsedUp
from anycowork.domain.limits import RequestedUse, SpendingLimitReached, payer_of
from anycowork.domain.metering import (
    NANOS,
    Account,
    ExceededLimit,
    ExpectedUse,
    KeyLimit,
    Price,
    Reservation,
    TokenUsage,
)
from anycowork.domain.ports import Clock
from anycowork.domain.principals import OWNER, Principal, PrincipalKind
from anycowork.store.sql.ledger import KeyLedger
from anycowork.store.sql.limits import LimitTable

BYTES_PER_TOKEN = 4
GUESSED_COMPLETION = 4096
NOTHING = ExpectedUse(0, 0, bounded=True)
_WITHOUT_COMPLETION = "/v1/embeddings"


class MeteredRequest(msgspec.Struct):
    """The parts of a request that are inspected: the model, and the limits of the answer."""

    model: str | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    max_output_tokens: int | None = None
    n: int | None = None


class _Addressed(msgspec.Struct):
    model: str | None = None


UNREAD = MeteredRequest()
_REQUEST = msgspec.json.Decoder(MeteredRequest)
_ADDRESS = msgspec.json.Decoder(_Addressed)


def read_metered_request(body: bytes) -> MeteredRequest:
    """Ignore fields of a wrong type: the provider will report what is wrong with such a body."""
    try:
        return _REQUEST.decode(body)
    except RecursionError:
        return UNREAD
    except ValueError:
        return MeteredRequest(model=_model_named_in(body))


def _model_named_in(body: bytes) -> str | None:
    try:
        return _ADDRESS.decode(body).model
    except (ValueError, RecursionError):
        return None


def expected_usage(path: str, request: MeteredRequest, size: int) -> ExpectedUse:
    """Estimates the use from the body's size and its limits. A negative limit is ignored."""
    prompt = -(-size // BYTES_PER_TOKEN)
    if path == _WITHOUT_COMPLETION:
        return ExpectedUse(prompt, 0, bounded=True)
    bounds = [
        bound for bound in (request.max_tokens, request.max_completion_tokens, request.max_output_tokens) if bound
    ]
    answers = max(1, request.n or 1)
    if not bounds or min(bounds) < 0:
        return ExpectedUse(prompt, GUESSED_COMPLETION * answers, bounded=False)
    return ExpectedUse(prompt, max(bounds) * answers, bounded=True)


class ReservedUse:
    """One request's reservation. It is settled once; if it never is, it counts in full, as an estimate."""

    def __init__(self, reservation: Reservation) -> None:
        self.expected = reservation.granted
        self.used = reservation.granted

    def settle(self, used: TokenUsage) -> None:
        self.used = used


class Meter:
    """Counts client keys, and people who have limits or are not alone. The owner without limits is not counted."""

    def __init__(self, ledger: KeyLedger, limits: LimitTable, clock: Clock) -> None:
        self._ledger = ledger
        self._limits = limits
        self._clock = clock
        self._accounts: dict[str, Account] = {}

    async def account(self, principal: Principal) -> Account | None:
        """Returns the account; None for principals that are not metered."""
        day = self._clock.now()[:10]
        is_key = principal.kind is PrincipalKind.CLIENT_KEY
        account_id = principal.id if is_key else payer_of(principal.label())
        if account_id == OWNER.id and await self._limits.rest(account_id, day=day) is None:
            return None
        account = self._accounts.get(account_id)
        if account is None:
            opened = await self._ledger.account(account_id, day)
            account = self._accounts.setdefault(account_id, opened)  # another request may have been quicker
        await self._ledger.refresh(account.today)
        account.rest = await self._limits.rest(account.payer, day=day)
        return account

    def require_room(self, account: Account, prompt: int, price: Price | None, *, name: str) -> None:
        """Refuses a request of at least this many tokens that a limit forbids in any case. Raises: KeyLimitReached."""
        now = self._clock.now()
        exceeded = account.forbids(TokenUsage(prompt, 1), price, date=now[:10], clock=self._clock.monotonic())
        if exceeded is not None:
            raise _refusal(exceeded, name, now)

    @asynccontextmanager
    async def reserved(
        self,
        account: Account | None,
        expected: ExpectedUse,
        price: Price | None,
        *,
        name: str,
        model: str | None = None,
    ) -> AsyncIterator[ReservedUse | None]:
        """Reserves the expected use; at the end, in any case, counts the actual use. Raises: KeyLimitReached, SpendingLimitReached."""
        if account is None:
            yield None
            return
        now = self._clock.now()
        reservation = account.reserve(expected, price, date=now[:10], clock=self._clock.monotonic(), now=now)
        if isinstance(reservation, ExceededLimit):
            raise _refusal(reservation, name, now)
        self._ledger.changed(reservation.day)
        metered = ReservedUse(reservation)
        try:
            if account.rest is not None and expected != NOTHING:
                await self._require_written(account, reservation, model)
            yield metered
        except SpendingLimitReached:
            metered.settle(TokenUsage())
            raise
        finally:
            reservation.settle(metered.used)
            self._ledger.changed(reservation.day)

    async def _require_written(self, account: Account, reservation: Reservation, model: str | None) -> None:
        """Writes the reservation in the transaction that checks the limits of who pays. Raises: SpendingLimitReached."""
        granted, day = reservation.granted, reservation.day.date
        usd = None if reservation.price is None else reservation.cost / NANOS
        request = RequestedUse(account.payer, model or "this model", granted.prompt, granted.completion, True, usd)
        await self._ledger.write_within(
            lambda connection: self._limits.enforcer.require_written(connection, request, day)
        )


# --- messages for refused requests


def _refusal(exceeded: ExceededLimit, name: str, now: str) -> KeyLimitReached:
    allowed, period = _amount(exceeded.limit, exceeded.allowed)
    limit = f"The client key '{name}' has a limit of {allowed} a {period}"
    if exceeded.limit is KeyLimit.REQUESTS_PER_MINUTE:
        message = f"{limit}, and they are used up. Ask again in {exceeded.seconds} s."
        return KeyLimitReached(message, param=exceeded.limit, retry_after=exceeded.seconds or 1)
    needed, remaining = _amount(exceeded.limit, exceeded.needed)[0], _amount(exceeded.limit, exceeded.left)[0]
    reason = f"{limit}: this request may take {needed}, {remaining} are left"
    if exceeded.seconds is not None:
        message = f"{reason} while other requests of it are under way. Ask again when they have ended."
        return KeyLimitReached(message, param=exceeded.limit, retry_after=exceeded.seconds)
    midnight, seconds = _next_day(now)
    message = f"{reason}. It lifts at {midnight}. Ask for less (max_tokens), or have the owner make a key with a higher limit."
    return KeyUsedUp(message, param=exceeded.limit, retry_after=seconds)


def _amount(limit: KeyLimit, amount: int) -> tuple[str, str]:
    """So much of it, and for how long."""
    match limit:
        case KeyLimit.REQUESTS_PER_MINUTE:
            return f"{amount} requests", "minute"
        case KeyLimit.TOKENS_PER_DAY:
            return f"{amount} tokens", "day"
        case KeyLimit.SPEND_PER_DAY:
            return f"${amount / NANOS:.6g}", "day"
        case _:
            assert_never(limit)


def _next_day(now: str) -> tuple[str, int]:
    """Midnight in UTC, and the seconds until then."""
    time = datetime.fromisoformat(now)
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return f"{midnight:%Y-%m-%d} 00:00 UTC", max(1, int((midnight - time).total_seconds()) + 1)
