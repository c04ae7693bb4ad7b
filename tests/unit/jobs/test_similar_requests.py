"""Similar requests: shared words, best first, bounded."""

from anycowork.chats.jobs.earlier_plans import LONGEST_REQUEST, similar_requests
from support.spec import proves

EARLIER = [
    ("5", "Add tests for the parser of dates"),
    ("4", "Translate the manual into Danish"),
    ("3", "add TESTS for the lexer"),
    ("2", "Add tests for the lexer"),
    ("1", "Add tests for the printer, and run them on every platform we have, with coverage"),
]


@proves("JOB-8/2")
def test_requests_with_many_common_words_are_found_best_first_and_no_others() -> None:
    assert similar_requests("Add tests for the lexer!", EARLIER, most=3) == ["3", "5"]
    assert similar_requests("Add tests for the lexer!", EARLIER, most=1) == ["3"]
    assert similar_requests("Paint the house", EARLIER, most=3) == []
    assert similar_requests("Go on: do as I do it in a row", [("1", "Do it as a cat: go on in")], most=3) == [], (
        "short words"
    )


def test_texts_without_words_are_like_nothing() -> None:
    assert similar_requests("", [("1", ""), ("2", "?!")], most=3) == []


def test_only_the_beginning_of_a_long_request_is_compared() -> None:
    long = "tidy attic " + " ".join(f"word{n}" for n in range(LONGEST_REQUEST))
    assert similar_requests("tidy attic", [("1", "tidy attic" + " " * LONGEST_REQUEST + long)], most=3) == ["1"]
