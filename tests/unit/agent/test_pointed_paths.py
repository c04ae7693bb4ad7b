"""Files that a person points at with an @ are there already: they are never expected to be made, and the model need not read them again."""

import pytest

from anycowork.agent.expectations import of_request
from anycowork.domain.evidence import ExpectationKind


def expected(request: str, *existing: str) -> set[tuple[ExpectationKind, str]]:
    return {(one.kind, one.subject) for one in of_request(request, lambda path: path in existing).expectations}


@pytest.mark.parametrize("request_text", ["look at @gone.txt and @here.txt", "Fix the typo in @gone.txt", "@gone.txt"])
def test_a_file_that_is_pointed_at_is_not_expected_as_output(request_text: str) -> None:
    assert not [subject for kind, subject in expected(request_text, "here.txt") if kind is ExpectationKind.OUTPUT]


def test_a_file_that_is_pointed_at_is_brought_and_need_not_be_read() -> None:
    assert (ExpectationKind.READ, "a.toml") in expected("What is the version in a.toml?", "a.toml")
    assert (ExpectationKind.READ, "a.toml") not in expected("What is the version in @a.toml?", "a.toml")


def test_a_file_that_is_pointed_at_is_protected_by_its_name() -> None:
    request = "Rename the function in src/app.py, but do not change @tests/test_app.py"
    assert (ExpectationKind.PROTECTED, "tests/test_app.py") in expected(request, "src/app.py", "tests/test_app.py")


@pytest.mark.parametrize(
    "request_text",
    [
        "please read gone.txt",
        "open gone.txt",
        "Lies bitte gone.txt",
        "lis gone.txt s'il te plaît",
        "Lee gone.txt, por favor",
    ],
)
def test_a_missing_file_that_is_only_to_be_read_is_not_expected_as_output(request_text: str) -> None:
    assert not [subject for kind, subject in expected(request_text) if kind is ExpectationKind.OUTPUT]


def test_a_request_that_is_data_is_not_read_as_sentences() -> None:
    steps = '[["write", "new.txt", "by itself"], ["leave", "sub/asked.txt"], ["do not touch", "secret.txt"]]'
    assert expected(steps, "secret.txt") == set()
    assert expected('{"keep": "a.txt"}', "a.txt") == set()
    assert (ExpectationKind.PROTECTED, "secret.txt") in expected(
        "Write new.txt. Do not touch secret.txt.", "secret.txt"
    )
