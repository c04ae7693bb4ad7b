"""The web UI has a German text for each fixed sentence that the server shows there."""

import json
import re
from pathlib import Path

import pytest

from anycowork.agent.loop import CUT_OFF
from anycowork.providers.local import catalogue
from anycowork.server.setup import sandbox_setup

GERMAN = Path(__file__).resolve().parents[3] / "web" / "src" / "texts" / "de" / "server.ts"
SANDBOX = (
    *sandbox_setup.ENFORCES,
    *sandbox_setup.ALWAYS_MISSING,
    *sandbox_setup.UNSANDBOXED,
    sandbox_setup.FILES_HELD,
    sandbox_setup.FILES_NOT_HELD,
    sandbox_setup.UNCOUNTED,
)
MODELS = (*(model.limits for model in catalogue.CATALOGUE), catalogue.OWN_LIMITS)


@pytest.mark.parametrize("sentence", [*SANDBOX, *MODELS, CUT_OFF])
def test_each_sentence_has_a_german_text(sentence: str) -> None:
    assert f"{json.dumps(sentence)}:" in GERMAN.read_text("utf-8")


@pytest.mark.parametrize("sentence", [sandbox_setup.COPIED, sandbox_setup.SOMETIMES_COPIED])
def test_each_sentence_with_a_part_that_differs_has_a_german_pattern(sentence: str) -> None:
    patterns = GERMAN.read_text("utf-8").replace("\\", "")
    pattern = "(.*)".join(re.split(r"\{.*?\}", sentence))
    assert f"/^{pattern}$/" in patterns
