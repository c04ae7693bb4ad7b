"""Which open steps the model's text accounts for: it names them and says why."""

import pytest

from anycowork.agent.step_explanations import unexplained
from anycowork.domain.plan import PlanStep

STEPS = [
    PlanStep(id="1", step_number=1, action="Make a"),
    PlanStep(id="2", step_number=2, action="Write the docs."),
    PlanStep(id="build-it", step_number=3, action="Build"),
]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ["1", "2", "build-it"]),
        ("Steps 1 and 2 needed nothing because both files were right.", ["build-it"]),
        ("1. Nothing to do, the file was there.\n2) The docs are complete as they are.", ["build-it"]),
        ("## Make a\nThe file was there already, so nothing changed.", ["2", "build-it"]),
        ("Write the docs: they say it already, word for word.", ["1", "build-it"]),
        ("build-it: the build of yesterday is still the newest.", ["1", "2"]),
        ("Step 1 is done.", ["1", "2", "build-it"]),
        ("I made 1 file and 2 folders in this fine place.", ["1", "2", "build-it"]),
        ("Step 1 could not be done because the disk is full.", ["1", "2", "build-it"]),
        ("Step 1 wasn't finished as there was no time left.", ["1", "2", "build-it"]),
        ("Step 12 needed nothing because the file was right.", ["1", "2", "build-it"]),
    ],
)
def test_step_is_accounted_for_by_its_name_and_a_reason(text: str, left: list[str]) -> None:
    assert [step.id for step in unexplained(STEPS, text)] == left
