"""Accounts of client keys: what may be set aside, what is counted, and what no order of events can break."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.metering import (
    MINUTE,
    NANOS,
    Account,
    DailyUsage,
    ExceededLimit,
    ExpectedUse,
    KeyLimit,
    KeyLimits,
    Price,
    Reservation,
    TokenUsage,
    price_of,
)

CHEAP = Price(input=1.0, output=10.0, cached=0.1)
TODAY, TOMORROW = "2026-11-15", "2026-11-16"


def account(**limits) -> Account:
    return Account(KeyLimits(**limits), DailyUsage("key", TODAY))


def ask(account, expected, price=None, *, at=0.0, date=TODAY):
    return account.reserve(expected, price, date=date, clock=at, now=f"{date}T00:00:00Z")


def bounded(prompt, completion) -> ExpectedUse:
    return ExpectedUse(prompt, completion, bounded=True)


def unbounded(prompt, completion) -> ExpectedUse:
    return ExpectedUse(prompt, completion, bounded=False)


@given(
    limit=st.integers(1, 5_000),
    asked=st.lists(st.tuples(st.integers(1, 900), st.integers(0, 2_000), st.booleans(), st.floats(0, 1)), max_size=40),
)
def test_reservations_and_use_never_pass_the_limit_while_use_keeps_to_its_reservation(limit, asked):
    key, open_ones = account(tokens_per_day=limit), []
    for prompt, completion, is_bounded, share in asked:
        given_ = ask(key, ExpectedUse(prompt, completion, bounded=is_bounded))
        if isinstance(given_, Reservation):
            open_ones.append((given_, share))
        assert key.today.tokens + key.today.reserved <= limit
        if len(open_ones) > 3:
            reservation, part = open_ones.pop(0)
            reservation.settle(TokenUsage(reservation.granted.prompt, int(reservation.granted.completion * part)))
        assert key.today.tokens + key.today.reserved <= limit
    for reservation, _ in open_ones:
        reservation.settle(TokenUsage())
    assert key.today.reserved == 0


@given(limit=st.integers(1, NANOS), prompts=st.lists(st.integers(1, 5_000), max_size=30))
def test_spend_set_aside_never_passes_the_limit(limit, prompts):
    key = account(spend_per_day=limit)
    for prompt in prompts:
        ask(key, unbounded(prompt, 4096), CHEAP)
        assert key.today.reserved_spend <= limit


@given(st.lists(st.floats(0, 300), max_size=60), st.integers(1, 5))
def test_no_minute_holds_more_requests_than_allowed(gaps, allowed):
    key, admitted, now = account(requests_per_minute=allowed), [], 0.0
    for gap in gaps:
        now += gap / 10
        if isinstance(ask(key, bounded(0, 0), at=now), Reservation):
            admitted.append(now)
    for moment in admitted:
        assert sum(moment - MINUTE < other <= moment for other in admitted) <= allowed


def test_a_rate_that_is_used_up_says_when_it_lifts():
    key = account(requests_per_minute=2)
    assert isinstance(ask(key, bounded(0, 0), at=10.0), Reservation)
    assert isinstance(ask(key, bounded(0, 0), at=30.0), Reservation)
    refused = ask(key, bounded(0, 0), at=31.5)
    assert (refused.limit, refused.seconds) == (KeyLimit.REQUESTS_PER_MINUTE, 39)
    assert isinstance(ask(key, bounded(0, 0), at=70.5), Reservation)


def test_a_refused_request_is_not_counted():
    key = account(requests_per_minute=1, tokens_per_day=10)
    assert isinstance(ask(key, bounded(20, 0)), ExceededLimit)
    assert key.today.requests == 0
    assert isinstance(ask(key, bounded(5, 5)), Reservation)


def test_a_request_without_a_bound_takes_what_is_left_and_no_more():
    key = account(tokens_per_day=100)
    first = ask(key, unbounded(30, 4096))
    assert first.granted == TokenUsage(30, 70, estimated=True)
    second = ask(key, unbounded(30, 4096))
    assert (second.limit, second.left, second.seconds) == (KeyLimit.TOKENS_PER_DAY, 0, 1)
    first.settle(TokenUsage(20, 10))
    assert ask(key, unbounded(30, 4096)).granted == TokenUsage(30, 40, estimated=True)


def test_what_is_used_up_lifts_the_next_day_and_a_late_end_counts_on_its_own_day():
    key = account(tokens_per_day=100)
    late = ask(key, bounded(50, 50))
    assert isinstance(ask(key, bounded(1, 0), date=TOMORROW), Reservation)
    yesterday = late.day
    late.settle(TokenUsage(50, 70))
    assert (yesterday.date, yesterday.tokens, key.today.date, key.today.tokens) == (TODAY, 120, TOMORROW, 0)


def test_a_day_that_is_spent_has_no_soon():
    key = account(spend_per_day=1000 * 1000)
    ask(key, bounded(1000, 0), CHEAP).settle(TokenUsage(1000))
    refused = ask(key, bounded(1, 0), CHEAP)
    assert (refused.limit, refused.left, refused.seconds) == (KeyLimit.SPEND_PER_DAY, 0, None)
    assert isinstance(ask(key, bounded(1, 1), Price(0, 0)), Reservation)  # what costs nothing may still be asked


def test_cached_tokens_cost_what_the_provider_says():
    assert CHEAP.of(TokenUsage(prompt=1_000_000, completion=100_000, cached=400_000)) == int((0.6 + 0.04 + 1.0) * NANOS)
    assert Price(input=2, output=0).of(TokenUsage(prompt=500_000, cached=500_000)) == NANOS
    assert CHEAP.of(TokenUsage(prompt=1, cached=99)) == 100  # no more of it was cached than there was


def test_tokens_without_a_price_are_counted_and_said():
    key = account(spend_per_day=1)
    ask(key, bounded(10, 10)).settle(TokenUsage(10, 5))
    assert (key.today.tokens, key.today.spend, key.today.unpriced, key.today.estimated) == (15, 0, 1, 0)


@pytest.mark.parametrize("name", ["gpt-x", "GPT-X", " gpt-x ", "Gpt-X\n"])
def test_a_price_is_found_however_its_model_is_spelt(name):
    assert price_of(name, {"gpt-X": CHEAP, "other": Price(99, 99)}) is CHEAP


@pytest.mark.parametrize("name", ["gpt-x-2026", "", None, "unknown"])
def test_a_model_without_a_price_costs_what_the_dearest_does(name):
    found = price_of(name, {"a": Price(1, 9), "b": Price(5, 2)})
    assert (found.input, found.output, found.exact) == (5, 9, False)
    assert price_of(name, {}) is None


def test_a_guessed_price_makes_the_count_an_estimate():
    key = account()
    ask(key, bounded(10, 10), Price(1, 1, exact=False)).settle(TokenUsage(10, 5))
    assert key.today.estimated == 15
