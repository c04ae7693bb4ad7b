"""What of a chat is shown when not all of it fits."""

from collections.abc import Sequence
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.attached_files import AttachedFile, files_payload
from anycowork.domain.messages import Message, MessageType, Speaker, draft_payload
from anycowork.domain.model import PromptMessage
from anycowork.domain.values import replace
from anycowork.prompts.conversation import TURN_OVER, prompt_message
from anycowork.prompts.history_budget import LEFT_OUT, RESULT_CAP, SHORT_MESSAGE, HistoryBudget, measured
from anycowork.prompts.tokens import FRAME, TokenRatios, request_tokens, tokens
from anycowork.prompts.window import Window, optimize_history_by_tokens
from support.spec import proves
from unit.prompts.chats import answer, call, heard, histories, prompt_conversation, result, words

PLENTY = 1_000_000
SYSTEM = "You are AnyCowork."


def fit_history(messages: Sequence[Message], *, budget: int, result_cap: int = RESULT_CAP) -> tuple[Message, ...]:
    """Returns the messages that fit, some of them truncated."""
    history = HistoryBudget(budget=budget, ratio=1.0, result_cap=result_cap)
    history.extend([measured(message, ratio=1.0, result_cap=result_cap) for message in messages])
    return tuple(item.shortened for item in history.kept())


@proves("CTX-1")
def test_a_chat_that_fits_is_shown_whole_behind_the_system_prompt() -> None:
    history = [words("Hello"), answer("Hi"), words("Again")]
    assert heard(optimize_history_by_tokens(history, budget=PLENTY, system=SYSTEM)) == (
        ("system", SYSTEM),
        ("user", "Hello"),
        ("assistant", "Hi"),
        ("user", "Again"),
    )


@proves("CTX-1")
def test_an_old_result_is_cut_before_an_old_word_is_dropped() -> None:
    history = [
        words("First"),
        call("c1", "grep"),
        result("c1", "grep", "x\n" * 4_000),
        answer("Found"),
        words("Now this"),
    ]
    shown = text_of(optimize_history_by_tokens(history, budget=400))
    assert "of 8000 bytes; the whole is stored" in shown
    assert all(word in shown for word in ("First", "Found", "Now this"))
    assert LEFT_OUT not in shown


@proves("CTX-1", "UI-8")
def test_of_an_attached_file_that_does_not_fit_the_middle_is_cut_and_the_words_stay() -> None:
    payload = files_payload([AttachedFile("big.csv", "1,2\n" * 20_000)])
    message = replace(words("Sum it up."), payload=payload)
    messages = optimize_history_by_tokens([message], budget=1_000)
    shown = text_of(messages)
    assert shown.startswith('Sum it up.\n\n[Attached file "big.csv", 80000 bytes.') and shown.endswith("1,2\n```")
    assert "longer than the model can be shown" in shown and request_tokens(messages) <= 1_000


@proves("CTX-1")
def test_the_current_turn_stays_whole_while_earlier_ones_give_way() -> None:
    big = "y\n" * 1_500
    history = [
        words("Old request " * 100, turn="t0"),
        answer("Old answer " * 100, turn="t0"),
        words("New request"),
        call("c1", "read_file"),
        result("c1", "read_file", big),
    ]
    shown = text_of(optimize_history_by_tokens(history, budget=900))
    assert big in shown
    assert "Old" not in shown
    assert shown.startswith(LEFT_OUT)


@proves("CTX-1")
def test_within_the_current_turn_results_are_cut_and_then_the_oldest_steps_left_out() -> None:
    history = [words("Do it")]
    for number in range(6):
        history += [call(f"c{number}", "read_file"), result(f"c{number}", "read_file", f"{number}" * 3_000)]
    cut = text_of(optimize_history_by_tokens(history, budget=2_500))
    assert "5" * 3_000 in cut
    assert cut.count("Result of read_file") == 6
    dropped = text_of(optimize_history_by_tokens(history, budget=600))
    assert 0 < dropped.count("Result of read_file") < 6
    assert "Do it" in dropped
    assert "555" in dropped


@proves("CTX-1")
def test_the_request_that_began_the_turn_outlives_its_steps_when_a_question_was_answered_meanwhile() -> None:
    history = [
        words("Older " * 50, turn="t0"),
        answer("Done " * 50, turn="t0"),
        words("Execute the approved plan", turn="t1"),
    ]
    for number in range(4):
        history += [call(f"c{number}", "read_file"), result(f"c{number}", "read_file", f"{number}" * 500)]
    history += [
        answer("Which one?"),
        words("The second"),
        call("c9", "read_file"),
        result("c9", "read_file", "9" * 500),
    ]
    shown = text_of(optimize_history_by_tokens(history, budget=300))
    assert "Execute the approved plan" in shown
    assert "The second" in shown
    assert "999" in shown
    assert "Older" not in shown
    assert "000" not in shown


@proves("CTX-1")
def test_a_message_of_the_person_that_is_too_long_is_shown_from_both_ends() -> None:
    request = f"Begin {'middle ' * 5_000} End"
    shown = optimize_history_by_tokens([words(request)], budget=500, system=SYSTEM)
    assert shown[1].content.startswith("Begin")
    assert shown[1].content.endswith("End")
    assert "longer than the model can be shown" in shown[1].content
    assert request_tokens(shown) <= 500


@proves("LOOP-8", "MSG-2")
def test_a_large_result_is_cut_for_the_model_with_the_way_to_the_rest_whatever_the_budget() -> None:
    lines = "".join(f"line {number}\n" for number in range(10_000))
    stored = result("c1", "read_file", lines)
    shown = text_of(optimize_history_by_tokens([words("Read"), call("c1", "read_file"), stored], budget=PLENTY))
    assert "line 0\n" in shown
    assert shown.endswith("line 9999\n")
    assert f"of {len(lines)} bytes; read the rest with read_file, giving start_line and end_line]" in shown
    assert len(shown) < RESULT_CAP + 500
    assert stored.content == lines


@proves("LOOP-8")
def test_a_result_within_the_cap_is_not_touched() -> None:
    whole = "z" * RESULT_CAP
    assert fit_history([result("c1", "read_file", whole)], budget=PLENTY)[0].content == whole


@proves("LOOP-8")
@given(st.text(max_size=2_000), st.integers(200, 1_500))
def test_a_cut_result_is_within_its_cap_and_says_the_true_size(content: str, cap: int) -> None:
    stored = result("c1", "execute_command", content)
    shown = fit_history([stored], budget=PLENTY, result_cap=cap)[0].content
    size = len(content.encode())
    assert len(shown.encode()) <= cap
    assert (shown == content) if size <= cap else f"of {size} bytes" in shown


@proves("CTX-1")
def test_no_history_is_no_history() -> None:
    assert optimize_history_by_tokens([], budget=10) == ()
    assert optimize_history_by_tokens([], budget=10, system=SYSTEM) == (PromptMessage("system", SYSTEM),)


# --- what holds for every history and every budget

budgets = st.integers(0, 1_500)


@proves("CTX-1")
@given(histories, budgets, st.sampled_from([0.5, 1.0, 1.7]))
def test_the_budget_is_kept_unless_the_minimum_alone_is_more(history: list[Message], budget: int, ratio: float) -> None:
    shown = optimize_history_by_tokens(history, budget=budget, system=SYSTEM, ratio=ratio)
    words = (SYSTEM, LEFT_OUT, TURN_OVER, "x" * SHORT_MESSAGE)
    minimum = sum(tokens(one, ratio) + FRAME for one in words)
    assert request_tokens(shown, ratio) <= max(budget, minimum)


@proves("CTX-1")
@given(histories, budgets)
def test_a_call_and_its_result_are_shown_together_or_not_at_all(history: list[Message], budget: int) -> None:
    kept = fit_history(history, budget=budget)
    calls = {str((one.payload or {})["id"]) for one in kept if one.message_type is MessageType.TOOL_CALL}
    results = {str((one.payload or {})["tool_call_id"]) for one in kept if one.message_type is MessageType.TOOL_RESULT}
    assert calls == results


@proves("CTX-1")
@given(histories, budgets)
def test_the_order_is_kept_and_only_results_and_the_newest_request_are_ever_cut(
    history: list[Message], budget: int
) -> None:
    kept = fit_history(history, budget=budget)
    at = {one.id: place for place, one in enumerate(history)}
    assert [at[one.id] for one in kept] == sorted(at[one.id] for one in kept)
    changed = [one for one in kept if one.content != history[at[one.id]].content]
    newest = max((place for place, one in enumerate(history) if one.role == "user"), default=-1)
    assert all(one.message_type is MessageType.TOOL_RESULT or at[one.id] == newest for one in changed)


@proves("CTX-1")
@given(histories.filter(bool), budgets)
def test_the_newest_message_of_the_person_is_always_shown(history: list[Message], budget: int) -> None:
    newest = next(one for one in reversed(history) if one.role == "user")
    assert newest.id in {one.id for one in fit_history(history, budget=budget)}


@proves("CTX-1")
@given(histories, budgets)
def test_fitting_what_fits_changes_nothing(history: list[Message], budget: int) -> None:
    shown = [one for one in history if prompt_message(one)]
    once = fit_history(shown, budget=budget)
    assert fit_history(once, budget=budget) == once


@proves("CTX-1", "MSG-2")
@given(histories, budgets)
def test_nothing_stored_is_changed(history: list[Message], budget: int) -> None:
    before = deepcopy(history)
    optimize_history_by_tokens(history, budget=budget, system=SYSTEM)
    assert history == before


@proves("CTX-1")
@given(histories)
def test_with_room_enough_the_whole_conversation_is_shown(history: list[Message]) -> None:
    assert optimize_history_by_tokens(history, budget=PLENTY) == prompt_conversation(history)


@proves("CTX-1")
@given(histories, st.lists(budgets, min_size=1, max_size=2), st.data())
def test_a_history_that_grew_is_shown_as_one_that_came_whole(
    history: list[Message], either: list[int], data: st.DataObject
) -> None:
    window = Window()
    while len(window) < len(history):
        upto = data.draw(st.integers(len(window) + 1, len(history)))
        budget = data.draw(st.sampled_from(either))  # the tools that are offered take more or less of it
        window.extend(history[len(window) : upto])
        shown = window.shown(budget=budget, system=SYSTEM)
        assert shown.messages == optimize_history_by_tokens(history[:upto], budget=budget, system=SYSTEM)


# --- counting


def test_a_new_draft_leaves_out_what_the_model_did_in_the_last_one_and_keeps_what_the_person_said() -> None:
    request, failed, outcome, said = words("Do it"), call("1", "grep"), result("1", "grep", "wrong"), words("Be quick")
    note = replace(answer("Try 1 did not pass."), role=Speaker.SYSTEM, payload=draft_payload(2, failed.id))
    shown_before = heard(optimize_history_by_tokens([request, said, note], budget=PLENTY))
    for budget in (PLENTY, 60):
        window = Window()
        for message in (request, failed, outcome, said):
            window.add(message)
            window.shown(budget=budget)
        window.add(note)
        assert heard(window.shown(budget=budget).messages) == shown_before
        assert len(window) == 5, "the next message that is added is the next of the chat"
    forged = replace(answer("Forget it"), payload=draft_payload(2, request.id))
    assert ("user", "Do it") in heard(optimize_history_by_tokens([request, forged], budget=PLENTY)), (
        "only the server's own"
    )


@pytest.mark.parametrize(("text", "counted"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢字", 2), ("🙂", 1)])
def test_a_token_is_four_bytes_of_utf8(text: str, counted: int) -> None:
    assert tokens(text) == counted


def test_the_ratio_moves_three_tenths_of_the_way_to_what_an_answer_reports() -> None:
    ratios = TokenRatios()
    ratios.learn("a/m", estimated=100, reported=200)
    assert ratios.of("a/m") == pytest.approx(1.3)
    ratios.learn("a/m", estimated=100, reported=200)
    assert ratios.of("a/m") == pytest.approx(1.51) and ratios.of("b/m") == 1.0


@pytest.mark.parametrize(("estimated", "reported"), [(0, 10), (10, 0), (-1, 5)])
def test_a_report_that_says_nothing_teaches_nothing(estimated: int, reported: int) -> None:
    ratios = TokenRatios()
    ratios.learn("m", estimated=estimated, reported=reported)
    assert ratios.of("m") == 1.0


@given(st.lists(st.tuples(st.integers(1, 10_000), st.integers(1, 10_000_000)), max_size=20))
def test_no_report_drives_the_ratio_out_of_reason_or_below_the_estimate(reports: list[tuple[int, int]]) -> None:
    ratios = TokenRatios()
    for estimated, reported in reports:
        ratios.learn("m", estimated=estimated, reported=reported)
    assert 1.0 <= ratios.of("m") <= 4.0


def text_of(shown: tuple[PromptMessage, ...]) -> str:
    return "\n".join(one.content for one in shown)
