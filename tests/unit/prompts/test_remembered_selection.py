"""The model is shown the same whether a chat was measured, fitted and converted before, or is looked at for the first time."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.person_commands import PERSON_COMMAND
from anycowork.domain.values import replace
from anycowork.prompts import history_budget
from anycowork.prompts.compaction import COMPACTED
from anycowork.prompts.window import PromptHistory, Window
from support.spec import proves
from unit.prompts.chats import answer, call, histories, message, result, words

SYSTEM = "You are AnyCowork."
CONVERSATION = [
    one for turn in range(30) for one in (words("Why?" * 9, turn=f"t{turn}"), answer("So." * 60, turn=f"t{turn}"))
]
STEPS = [
    one
    for number in range(4)
    for one in (call(f"k{number}", "grep", turn="now"), result(f"k{number}", "grep", "x" * 200, turn="now"))
]
NO_ANSWERS = [
    one
    for turn in range(30)
    for one in (
        words("Why?" * 9, turn=f"u{turn}"),
        call(f"u{turn}", "grep", turn=f"u{turn}"),
        result(f"u{turn}", "grep", "y", turn=f"u{turn}"),
    )
]

_events = st.sampled_from(["nothing", "role", "plan", "compaction", "command", "edit", "fork", "summary"])


def after(event: str, history: Sequence[Message]) -> list[Message]:
    """Return the chat after something happened to it between two turns."""
    match event:
        case "role":
            payload = {"old_role": "actor", "new_role": "planner"}
            return [*history, message(Speaker.USER, "Role", MessageType.ROLE_CHANGE, payload=dict(payload), turn="")]
        case "plan":
            return [*history, message(Speaker.ASSISTANT, "1. Paint", MessageType.PLAN, payload={"steps": ["Paint"]})]
        case "compaction":
            return [*history, message(Speaker.SYSTEM, "[Compacted: all.]", payload={COMPACTED: len(history)})]
        case "command":
            ended = {PERSON_COMMAND: {"command": "make", "ended": "exited", "exit_code": 0}}
            return [*history, message(Speaker.SYSTEM, "make", payload=dict(ended))]
        case "summary":
            return [*history, message(Speaker.ASSISTANT, "All was painted.", payload={"summary": True})]
        case "edit" if history:
            at = len(history) // 2
            return [*history[:at], replace(history[at], content=f"{history[at].content} Or not."), *history[at + 1 :]]
        case "fork":
            return [replace(one, chat_id="fork") for one in history]
        case _:
            return list(history)


@proves("CTX-1")
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(histories.filter(bool), histories, _events), min_size=1, max_size=4),
    st.lists(st.integers(60, 2_500), min_size=1, max_size=2),
    st.lists(st.sampled_from([1.0, 1.0, 1.3, 2.5]), min_size=1, max_size=2),
    st.sampled_from([history_budget.RESULT_CAP, 700]),
    st.booleans(),
    st.integers(1, 4),
)
@example([(CONVERSATION, STEPS, "nothing"), (CONVERSATION[:2], STEPS, "nothing")], [1_400], [1.0], 700, True, 2)
@example([(NO_ANSWERS, STEPS, "nothing")], [1_400], [1.0], 700, False, 2)
def test_every_request_of_every_turn_is_what_a_server_that_knows_nothing_would_send(
    turns: list[tuple[list[Message], list[Message], str]],
    budgets: list[int],
    ratios: list[float],
    cap: int,
    late: bool,
    at_once: int,
) -> None:
    history: list[Message] = []
    for number, (before, more, event) in enumerate(turns):
        history = after(event, [*history, *before])
        budget, ratio = budgets[number % len(budgets)], ratios[number % len(ratios)]
        window = Window(ratio=ratio, result_cap=cap, begins_late=late)
        window.extend(history)
        steps = [replace(one, turn_id=f"now{number}") for one in more if one.role is not Speaker.USER]
        requests = [[words("Now this.", turn=f"now{number}")], *batched(steps, at_once)]
        for added in requests:
            history += added
            window.extend(added)
            fresh = shown_anew(history, budget=budget, ratio=ratio, cap=cap, late=late)
            assert window.shown(budget=budget, system=SYSTEM) == fresh


def batched(steps: Sequence[Message], size: int) -> list[Sequence[Message]]:
    return [steps[start : start + size] for start in range(0, len(steps), size)]


def shown_anew(history: Sequence[Message], *, budget: int, ratio: float, cap: int, late: bool) -> PromptHistory:
    """Return what is shown when nothing is remembered of earlier turns and requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_budget, "_remembered", {})
        window = Window(ratio=ratio, result_cap=cap, begins_late=late)
        window.extend(history)
        return window.shown(budget=budget, system=SYSTEM)
