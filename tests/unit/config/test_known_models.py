"""Prices and context sizes of well-known models: dated, only where they hold, and replaced by a person's own file."""

import tomllib
from pathlib import Path

import pytest

from anycowork.cli.headless_run import RunCost, listed_prices
from anycowork.config.known_models import OWN_FILE, PACKAGED, KnownModelFile, known_models
from anycowork.config.settings import BadSettings, PriceEntry, ProviderEntry
from anycowork.domain.model import UNKNOWN_MODEL
from support.spec import proves

OPENAI = "https://api.openai.com/v1"


@proves("MOD-3")
def test_a_price_holds_at_its_makers_address_and_a_size_everywhere(tmp_path: Path) -> None:
    known = known_models(tmp_path)
    here = known.facts(OPENAI, "gpt-4o-2024-08-06")
    assert here.context_tokens == 128_000 and here.price is not None and here.price.input == 2.5
    elsewhere = known.facts("https://openrouter.ai/api/v1", "openai/gpt-4o")
    assert (elsewhere.context_tokens, elsewhere.price) == (128_000, None)
    assert known.facts(OPENAI, "gpt-9-unheard-of") == UNKNOWN_MODEL == known.facts(None, "gpt-4")
    assert known.facts("https://api.openai.com.evil.example/v1", "gpt-4o").price is None


@proves("MOD-3")
def test_the_persons_own_file_comes_first_and_is_checked(tmp_path: Path) -> None:
    own = tmp_path / OWN_FILE
    own.write_text(
        '[makers.mine]\nhosts = ["api.openai.com"]\n[makers.mine.models]\n'
        "gpt-4o = { context_tokens = 5, price = { input = 7, output = 8 } }\nours = { context_tokens = 9 }\n"
    )
    known = known_models(tmp_path)
    changed = known.facts(OPENAI, "gpt-4o")
    assert changed.context_tokens == 5 and changed.price is not None and changed.price.input == 7
    assert known.facts("http://127.0.0.1:8000/v1", "ours").context_tokens == 9
    assert known.facts(OPENAI, "gpt-4o-mini").context_tokens == 128_000, "the rest stays"
    for wrong in ("[makers", "[makers.a.models]\nm = { context_tokens = 0 }", "[makers.a.models]\nm = { prise = 1 }"):
        own.write_text(wrong)
        with pytest.raises(BadSettings, match="Correct or remove it"):
            known_models(tmp_path)


@proves("MOD-3", "CLI-1")
def test_a_run_counts_a_listed_price_and_says_when_it_knows_none(tmp_path: Path) -> None:
    office = ProviderEntry(name="office", base_url=OPENAI, prices={"gpt-4o": PriceEntry(input=1, output=1)})
    listed = listed_prices(known_models(tmp_path), [office], {})
    assert listed("openai/gpt-4o") == PriceEntry(input=2.5, output=10, cached=1.25)
    assert listed("office/gpt-4o-mini") == PriceEntry(input=0.15, output=0.6, cached=0.075)
    assert (
        listed_prices(known_models(tmp_path), [], {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})("openai/gpt-4o") is None
    )
    spending = RunCost(100.0, (office,), listed)
    for model, cost in (("openai/gpt-4o", 2.5), ("office/gpt-4o", 1.0)):  # what config.toml says comes first
        spending.spent = 0.0
        spending.add({"type": "usage", "usage": {"model": model, "prompt": 1_000_000, "completion": 0, "cached": 0}})
        assert spending.spent == pytest.approx(cost)


def test_the_list_says_when_it_was_read() -> None:
    assert KnownModelFile.model_validate(tomllib.loads(PACKAGED.read_text())).read_on is not None
