"""What a person quotes or pastes tells nothing of what they ask for; what they write below it does."""

import pytest

from anycowork.agent.expectations import of_request
from anycowork.agent.request_paths import commands_in, paths_in, paths_in_commands
from anycowork.domain.evidence import ExpectationKind

REQUEST = "Fix the total in shop.py. `python3 -m pytest test_shop.py` must pass."


@pytest.mark.parametrize(
    "pasted",
    [
        "> It is wrong in old.py since Monday.",
        '  File "/srv/old.py", line 3, in total',
        "> one\n> two\n\nThey wrote that.",
    ],
)
def test_a_request_below_a_quoted_line_is_read(pasted: str) -> None:
    request = f"{pasted}\n\n{REQUEST}"
    assert paths_in(request) == ["shop.py"]
    derived = of_request(request, {"shop.py", "test_shop.py"}.__contains__)
    assert [(item.kind, item.subject) for item in derived.expectations] == [
        (ExpectationKind.CHECK, "python3 -m pytest test_shop.py")
    ]
    assert derived.asks_change


@pytest.mark.parametrize(
    ("request_", "paths"),
    [
        (REQUEST, ["test_shop.py"]),
        ("`pytest -q tests/test_a.py::test_b tests/test_a.py` must pass", ["tests/test_a.py"]),
        ("`python3 check.py | tail -1` shows it", []),
        ("Make the tests pass with npm test", []),
    ],
)
def test_files_are_found_in_the_commands_that_a_request_names(request_: str, paths: list[str]) -> None:
    assert paths_in_commands(request_) == paths
    assert len(commands_in(request_)) <= 1
