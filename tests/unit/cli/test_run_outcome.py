"""Which exit code a script sees, for every way a turn can end."""

import pytest

from anycowork.cli.headless_run import RunCost
from anycowork.cli.run_outcome import EXIT_CODES, OutcomeTracker, RunEnding, RunOutcome
from anycowork.config.settings import PriceEntry, ProviderEntry
from anycowork.domain.chats import EndReason
from anycowork.domain.messages import Json
from support.spec import proves


def said(text: str, kind: str = "text", payload: Json | None = None) -> Json:
    message: Json = {"role": "assistant", "message_type": kind, "content": text, "payload": payload}
    return {"type": "message", "turn_id": "t", "message": message}


def ended(reason: str, code: str | None = None) -> Json:
    error: Json | None = {"code": code, "message": f"because of {code}"} if code else None
    return {"type": "turn-ended", "turn_id": "t", "reason": reason, "turn": {"error": error}}


def outcome_of(*events: Json) -> RunOutcome | None:
    watch = OutcomeTracker("t")
    for event in events:
        watch.see(event)
    return watch.outcome


@proves("CLI-1")
@pytest.mark.parametrize(
    ("reason", "code", "exit_code"),
    [
        ("answered", None, 0),
        ("terminated", None, 0),
        ("planned", None, 0),
        ("asked", None, 3),
        ("limit", "too_many_steps", 4),
        ("blocked", None, 1),
        ("failed", "too_many_faults", 1),
        ("failed", "provider_unreachable", 5),
        ("failed", "no_such_model", 5),
        ("stopped", None, 1),
        ("interrupted", None, 1),
        ("a reason of a later version", None, 1),
    ],
)
def test_every_end_of_a_turn_has_its_documented_exit_code(reason: str, code: str | None, exit_code: int) -> None:
    outcome = outcome_of(said("words"), ended(reason, code))
    assert outcome is not None
    assert outcome.exit_code == exit_code
    assert outcome.text == "words"
    assert (outcome.error is None) == (exit_code == 0)


def test_no_end_of_a_turn_is_forgotten_in_the_table_above() -> None:
    for reason in EndReason:
        outcome = outcome_of(ended(reason.value))
        assert outcome is not None and outcome.ending in EXIT_CODES


@proves("CLI-1")
@pytest.mark.parametrize("kind", ["permission-request", "question"])
def test_what_asks_for_a_person_parks_the_run(kind: str) -> None:
    noun = "approval" if kind == "permission-request" else "question"
    outcome = outcome_of({"type": kind, "turn_id": "t", noun: {"id": "a"}})
    assert outcome is not None
    assert (outcome.ending, outcome.exit_code, outcome.waiting) == (RunEnding.PARKED, 3, ({"id": "a"},))


def test_another_turn_s_events_decide_nothing() -> None:
    assert outcome_of({**ended("answered"), "turn_id": "other"}) is None


def test_the_last_words_are_the_answer_and_a_plan_is_kept_as_json() -> None:
    plan: Json = {"goal": "g"}
    planned = outcome_of(said("first"), said("{…}", "plan", plan), ended("planned"))
    assert planned is not None and planned.plan == plan
    answered = outcome_of(said("{…}", "plan", plan), said("last"), ended("answered"))
    assert answered is not None and (answered.text, answered.plan) == ("last", None)


def usage(model: str, prompt: int, completion: int, cached: int = 0) -> Json:
    counts: Json = {"model": model, "prompt": prompt, "completion": completion, "cached": cached}
    return {"type": "usage", "usage": counts}


PROVIDERS = (ProviderEntry(name="p", prices={"a/m": PriceEntry(input=1, output=10, cached=0.1)}),)


@proves("CLI-1")
def test_a_run_ends_when_it_has_cost_more_than_allowed() -> None:
    spending = RunCost(0.01, PROVIDERS)
    assert spending.add(usage("p/a/m", prompt=2000, completion=500, cached=1000)) is None
    assert spending.spent == pytest.approx(0.001 + 0.0001 + 0.005)
    assert "--max-cost" in (spending.add(usage("p/a/m", prompt=0, completion=500)) or "")


@proves("CLI-1")
def test_a_price_that_is_not_known_counts_as_the_dearest() -> None:
    spending = RunCost(1.0, PROVIDERS)
    assert spending.add(usage("p/other", prompt=2000, completion=1000)) is None
    assert "price of p/other is not known" in (spending.add(usage("p/other", prompt=1000, completion=0)) or "")
    assert RunCost(0.0, PROVIDERS).add(usage("p/other", 1, 0)) is not None
    assert RunCost(None, PROVIDERS).add(usage("p/other", 1, 1)) is None
    assert RunCost(0.0, PROVIDERS).add(usage("guide/guide", 9, 9)) is None
