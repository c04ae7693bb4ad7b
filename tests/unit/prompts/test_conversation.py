"""How stored messages become what a model is shown."""

from itertools import pairwise

from hypothesis import given

from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.values import replace
from support.spec import proves
from unit.prompts.chats import answer, call, heard, histories, message, prompt_conversation, result, words


@proves("CTX-1")
def test_a_turn_with_a_call_reads_as_request_call_result_answer() -> None:
    history = [
        words("Read a.txt"),
        call("c1", "read_file"),
        result("c1", "read_file", "hello"),
        answer("It says hello."),
    ]
    assert heard(prompt_conversation(history)) == (
        ("user", "Read a.txt"),
        ("assistant", '{"tool": "read_file", "parameters": {}, "terminate": false}'),
        ("user", "Result of read_file (ok):\nhello"),
        ("assistant", "It says hello."),
    )


def test_calls_of_one_reply_are_one_message_of_lines_and_their_results_one_message() -> None:
    history = [
        words("Look"),
        call("c1", "grep"),
        call("c2", "grep"),
        result("c1", "grep", "1"),
        result("c2", "grep", "2", status="error"),
    ]
    _, calls, results = prompt_conversation(history)
    assert len(calls.content.splitlines()) == 2
    assert results.content == "Result of grep (ok):\n1\n\nResult of grep (error):\n2"


def test_a_role_switch_is_told_as_a_short_note_of_the_person() -> None:
    switch = message(
        Speaker.SYSTEM, "Role changed", MessageType.ROLE_CHANGE, payload={"old_role": "planner", "new_role": "actor"}
    )
    assert heard(prompt_conversation([switch, words("Go")])) == (
        ("user", "[The person switched the role from planner to actor.]\n\nGo"),
    )


def test_a_role_switch_from_old_data_without_names_is_told_in_its_own_words() -> None:
    switch = message(Speaker.SYSTEM, "Now acting", MessageType.ROLE_CHANGE)
    assert heard(prompt_conversation([switch])) == (("user", "[Now acting]"),)


def test_what_is_only_for_people_and_what_is_empty_is_not_told() -> None:
    assert heard(prompt_conversation([message(Speaker.SYSTEM, "The step limit was reached."), answer("  ")])) == ()


def test_plan_question_and_review_are_the_agents_own_words() -> None:
    for kind in (MessageType.PLAN, MessageType.QUESTION, MessageType.REVIEW):
        assert heard(prompt_conversation([message(Speaker.ASSISTANT, "{}", kind)])) == (("assistant", "{}"),)


@proves("QST-1")
def test_a_chosen_option_is_told_with_the_value_that_its_asker_gave_it() -> None:
    def chosen(text: str, **payload: str | None) -> str:
        (only,) = prompt_conversation([replace(words(text), payload={"question_id": "m1", "value": None, **payload})])
        return only.content

    assert chosen("No, skip them", value="skip_tests") == "No, skip them (skip_tests)"
    assert chosen("postgres", value="postgres") == "postgres"
    assert chosen("Do half of it", custom="Do half of it") == "Do half of it"


def test_answers_of_two_turns_are_kept_apart_by_a_blank_line() -> None:
    history = [answer("One", turn="t1"), answer("Two", turn="t1"), answer("Three", turn="t2")]
    assert heard(prompt_conversation(history)) == (("assistant", "One\nTwo\n\nThree"),)


@proves("CTX-1")
@given(histories)
def test_user_and_assistant_always_take_turns_and_no_message_is_empty(history: list[Message]) -> None:
    told = prompt_conversation(history)
    assert all(one.role != other.role for one, other in pairwise(told))
    assert all(one.content.strip() for one in told)


def told(tool: str, content: str, **payload: object) -> str:
    one = result("c1", tool, content)
    [shown] = prompt_conversation([replace(one, payload={**(one.payload or {}), **payload})])
    return shown.content


def test_a_remark_of_the_server_stands_in_the_heading_apart_from_the_data() -> None:
    broken = told("read_file", "for x in y", facts={"remark": "It does not parse."})
    assert broken == "Result of read_file (ok). It does not parse.\nfor x in y"


def test_the_few_lines_that_a_command_changed_are_shown_and_many_are_not() -> None:
    diff = "--- a/n.txt\n+++ b/n.txt\n@@ -1 +1 @@\n-fox\n+cat\n"
    assert told("execute_command", "exit code 0", diff=diff).endswith("exit code 0\n-fox\n+cat")
    many = "".join(f"+{number}\n" for number in range(50))
    assert told("execute_command", "exit code 0", diff=many).endswith("exit code 0")
    assert told("update_file", "Updated.", diff=diff).endswith("Updated.")  # whoever wrote them knows them
