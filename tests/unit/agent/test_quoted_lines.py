"""What a person quotes or pastes tells nothing of what they ask for; what they write below it does."""

import pytest

from anycowork.agent.expectations import of_request
from anycowork.agent.request_paths import paths_in
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
