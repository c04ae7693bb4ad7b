"""How much of a hash a person must name to trust what they read."""

import pytest

from anycowork.cli.options import require_digits, shown_hash, whole_hash
from anycowork.domain.errors import ContentChanged, Invalid

WHOLE = "3f2a9c1b77d0" + "0123456789abcdef" * 3 + "0123"


@pytest.mark.parametrize("begun", ["", WHOLE[:12], WHOLE[:31], WHOLE + "0", "G" * 32, "%" + WHOLE[:32]])
def test_digits_that_another_content_could_share_trust_nothing(begun: str) -> None:
    with pytest.raises(Invalid, match="32 of its digits"):
        require_digits(begun, "--trust")


def test_what_is_shown_is_enough_and_names_this_content_alone() -> None:
    require_digits(shown_hash(WHOLE), "--trust")
    assert whole_hash(WHOLE, shown_hash(WHOLE), "AGENTS.md") == WHOLE
    with pytest.raises(ContentChanged, match="not what you have read"):
        whole_hash(f"{WHOLE[:12]}{'f' * 52}", shown_hash(WHOLE), "AGENTS.md")
