"""What is not read of a long chat would not have been shown."""

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from anycowork.domain.messages import Message
from anycowork.domain.values import replace
from anycowork.prompts.compaction import COMPACTED
from anycowork.prompts.window import HistoryLimit, PromptHistory, Window
from support.spec import proves
from unit.prompts.chats import answer, call, histories, result, words

CONVERSATION = [
    one for turn in range(40) for one in (words("Why?" * 9, turn=f"t{turn}"), answer("So." * 99, turn=f"t{turn}"))
]


def read(history: Sequence[Message], *, budget: int) -> list[Message]:
    """Return the end of the history that must be read in its last turn."""
    since = next(message.id for message in history if message.turn_id == history[-1].turn_id)
    limit, found = HistoryLimit(budget=budget, since=since), list[Message]()
    for message in reversed(history):
        found.append(message)
        if limit.reached(message):
            break
    return found[::-1]


def shown(
    messages: Sequence[Message], more: Sequence[Message], *, late: bool, budget: int, ratio: float
) -> list[PromptHistory]:
    """Return what is shown at the start of the turn, and after more of it was done."""
    window = Window(ratio=ratio, begins_late=late)
    window.extend(messages)
    first = window.shown(budget=budget, system="You are AnyCowork.")
    window.extend(more)
    return [first, window.shown(budget=budget, system="You are AnyCowork.")]


@proves("CTX-1")
@given(histories.filter(bool), histories, st.integers(40, 3_000), st.sampled_from([1.0, 1.3, 4.0]))
@example(CONVERSATION, [], 900, 1.0)
def test_the_model_is_shown_the_same_whether_all_or_only_the_limit_was_read(
    history: list[Message], more: list[Message], budget: int, ratio: float
) -> None:
    steps = [replace(message, turn_id=history[-1].turn_id) for message in more]
    end = read(history, budget=budget)
    late = len(end) < len(history)
    assert shown(end, steps, late=late, budget=budget, ratio=ratio) == shown(
        history, steps, late=False, budget=budget, ratio=ratio
    )


def test_little_more_is_read_than_fits() -> None:
    assert 10 < len(read(CONVERSATION, budget=900)) < 30


def test_a_chat_that_fits_is_read_whole() -> None:
    assert read(CONVERSATION, budget=9_000) == CONVERSATION


def test_the_limit_is_never_between_a_call_and_its_result() -> None:
    early = [
        call("c1", "grep", turn="t0"),
        *CONVERSATION[:-2],
        result("c1", "grep", "found", turn="t38"),
        *CONVERSATION[-2:],
    ]
    assert read([words("First", turn="t0"), *early], budget=900) == early


def test_what_a_person_may_have_taken_back_does_not_count() -> None:
    digest = replace(answer("A digest. " * 400, turn="t38"), payload={COMPACTED: {"messages": 2}})
    assert (
        len(read([*CONVERSATION[:-2], digest, *CONVERSATION[-2:]], budget=900))
        == len(read(CONVERSATION, budget=900)) + 1
    )
