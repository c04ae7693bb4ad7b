"""What a run has spent of its plan's budget, and what a spent one holds back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.metering import ModelUsage
from anycowork.domain.plan import Budget, read_plan
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, Intent, Provenance, ToolSpec
from anycowork.permissions.budgets import BudgetSpent, BudgetUse, overdrawn, spent_by
from support.spec import proves

READ = ToolSpec("read_file", "files", "", frozenset({Permission.READ_FILES}), {})
UPDATE = ToolSpec("update_file", "files", "", frozenset({Permission.READ_FILES, Permission.WRITE_FILES}), {})
counts = st.integers(0, 50)
limits = st.none() | st.integers(1, 50)


def made(step: str | None, *, intent: bool = True, check: bool = False) -> Call:
    return Call(
        "c", "chat", "t", "b", 0, "update_file", {}, plan_step=step, intent=Intent() if intent else None,
        provenance=Provenance(check=check),
    )  # fmt: skip


def used(model: str = "a/b", **numbers: int) -> ModelUsage:
    given = {"requests": 1, "reserved": 0, "prompt": 0, "completion": 0, "cached": 0, "reasoning": 0, **numbers}
    return ModelUsage(model=model, estimated=False, **given)


def a_dollar_each(usage: ModelUsage) -> float | None:
    return None if usage.model == "who/knows" else float(usage.prompt + usage.completion)


def test_only_calls_that_a_step_names_and_that_were_begun_are_counted() -> None:
    calls = [made("1"), made("2"), made(None), made("1", intent=False), made("1", check=True)]
    assert spent_by(calls, seconds=2.5, used=(), cost_of=a_dollar_each) == BudgetUse(calls=2, seconds=2.5)


def test_what_was_set_aside_and_never_told_counts_as_spent() -> None:
    spent = spent_by([], seconds=0, used=[used(prompt=5, completion=2, reserved=10)], cost_of=a_dollar_each)
    assert (spent.tokens, spent.cost) == (17, 17.0)


@proves("APR-6/3")
def test_one_model_without_a_price_makes_the_cost_unknown() -> None:
    spent = spent_by([], seconds=0, used=[used(prompt=5), used("who/knows", prompt=1)], cost_of=a_dollar_each)
    assert (spent.tokens, spent.cost) == (6, None)
    over = overdrawn(Budget(cost=100), spent)
    assert over is not None and "price is not known" in over.reason


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (Budget(calls=3), "3 of 3 calls"),
        (Budget(seconds=60), "61 of 60 seconds"),
        (Budget(tokens=900), "1,000 of 900 tokens"),
        (Budget(cost=0.25), "0.50 of 0.25 dollars"),
    ],
)
def test_a_spent_budget_says_which_part_of_it_is_spent(budget: Budget, told: str) -> None:
    over = overdrawn(budget, BudgetUse(calls=3, seconds=61.2, tokens=1000, cost=0.5))
    assert over is not None and told in over.reason and over.calls_only is (budget.calls is not None)


@proves("APR-6/3")
@given(limits, limits, limits, counts, counts, counts)
def test_a_budget_is_spent_exactly_when_one_of_its_parts_is(
    calls: int | None, seconds: int | None, tokens: int | None, made: int, took: int, read: int
) -> None:
    over = overdrawn(Budget(calls=calls, seconds=seconds, tokens=tokens), BudgetUse(made, float(took), read))
    parts = ((calls, made), (seconds, took), (tokens, read))
    assert (over is not None) is any(limit is not None and spent >= limit for limit, spent in parts)


def test_reading_and_the_servers_checks_pass_where_only_the_calls_are_spent() -> None:
    calls, time = BudgetSpent("", calls_only=True), BudgetSpent("", calls_only=False)
    for spec, check in ((READ, False), (UPDATE, True)):
        assert not calls.holds_back(made("1", check=check), spec)
        assert time.holds_back(made("1", check=check), spec)
    assert calls.holds_back(made("1"), UPDATE)


@pytest.mark.parametrize(
    "budget",
    [{"calls": 0}, {"calls": -1}, {"calls": 1.5}, {"calls": True}, {"seconds": 0}, {"tokens": "many"}, 5, "low"],
)
def test_what_is_no_budget_is_no_plan(budget: object) -> None:
    plan = {"goal": "g", "steps": [{"action": "a"}], "budget": budget}
    assert read_plan(plan) is None  # type: ignore[arg-type]  # test data
