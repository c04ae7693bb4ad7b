"""Calls that a model makes natively are bounded like what it says in words."""

import pytest

from anycowork.agent.reply_parser import CallsReply, UnreadableReply, read_called
from anycowork.domain.errors import RunawayReply
from anycowork.domain.model import LONGEST_REPLY
from anycowork.providers.openai.native_calls import MOST_CALLS, CallPieces, strict


def test_arguments_that_never_end_are_stopped() -> None:
    pieces = CallPieces()
    with pytest.raises(RunawayReply):
        for _ in range(LONGEST_REPLY):
            pieces.add(0, name="create_file", arguments="x" * 1_000)


def test_calls_without_number_are_stopped() -> None:
    pieces = CallPieces()
    with pytest.raises(RunawayReply):
        for index in range(MOST_CALLS + 1):
            pieces.add(index, name="a")


@pytest.mark.parametrize("depth", [70, 900, 100_000])
def test_arguments_that_are_nested_too_deep_are_told_so(depth: int) -> None:
    read = read_called([strict("read_file", '{"path": ' + "[" * depth + "]" * depth + "}").text], "")
    assert isinstance(read, UnreadableReply)


def test_half_of_a_surrogate_pair_in_arguments_is_told_and_does_not_end_the_turn() -> None:
    assert isinstance(read_called([strict("read_file", '{"path": "\\ud800"}').text], ""), UnreadableReply)
    assert isinstance(read_called([strict("read_file", '{"path": "a"}').text], ""), CallsReply)
