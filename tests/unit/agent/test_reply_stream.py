"""A runaway answer is recognised; a long honest one is not."""

import pytest

from anycowork.agent.reply_stream import repeats_itself
from support.spec import proves


@proves("LOOP-10/4")
@pytest.mark.parametrize("text", ["hello world. " * 500, "ha" * 5000, ("a" * 239 + "b") * 20])
def test_a_text_that_repeats_itself_is_recognised(text: str) -> None:
    assert repeats_itself(text)


@pytest.mark.parametrize("text", ["", "hello " * 10, "-" * 9000, "".join(f"line {i} is fine\n" for i in range(1000))])
def test_a_text_that_goes_on_is_not(text: str) -> None:
    assert not repeats_itself(text)
