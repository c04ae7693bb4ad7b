"""Measuring a message again, after its form was remembered."""

from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.values import replace
from anycowork.prompts import history_budget
from anycowork.prompts.history_budget import RESULT_CAP, SHORT_RESULT, measured

SAID = Message("m1", "c1", Speaker.USER, "Paint the wall green.")


def test_a_message_with_the_same_id_and_other_words_is_measured_anew() -> None:
    """An edit keeps the id; a fork or an import may bring it into another chat."""
    first = measured(SAID, ratio=1.0, result_cap=RESULT_CAP)
    edited = replace(SAID, content="Paint the wall red, and the door too.")
    elsewhere = replace(SAID, chat_id="c2", turn_id="t2")
    for one in (edited, elsewhere, SAID):
        again = measured(one, ratio=1.0, result_cap=RESULT_CAP)
        assert again.original == one == again.shortened
        assert again.prompt_form is not None and again.prompt_form.content == one.content
        assert (again.tokens == first.tokens) == (one.content == SAID.content)


def test_another_ratio_and_another_cap_count_for_a_remembered_message() -> None:
    result = Message(
        "m2", "c1", Speaker.TOOL, "x" * 3_000, MessageType.TOOL_RESULT, {"tool": "read_file", "tool_call_id": "k1"}
    )
    whole = measured(result, ratio=1.0, result_cap=RESULT_CAP)
    short = measured(result, ratio=1.0, result_cap=SHORT_RESULT)
    dear = measured(result, ratio=2.0, result_cap=RESULT_CAP)
    assert short.tokens < whole.tokens < dear.tokens
    assert measured(result, ratio=1.0, result_cap=RESULT_CAP).tokens == whole.tokens
    assert short.original == whole.original == result and short.shortened.content != result.content


def test_what_is_remembered_is_bounded() -> None:
    for number in range(history_budget._MOST_REMEMBERED + 50):
        measured(replace(SAID, id=f"n{number}"), ratio=1.0, result_cap=RESULT_CAP)
    measured(
        replace(SAID, id="long", content="y" * (history_budget._LARGEST_REMEMBERED + 1)),
        ratio=1.0,
        result_cap=RESULT_CAP,
    )
    assert len(history_budget._remembered) == history_budget._MOST_REMEMBERED
    assert ("long", RESULT_CAP) not in history_budget._remembered
