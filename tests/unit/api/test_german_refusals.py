"""The web UI has a German text for each refusal that people meet there, by its code."""

import re
from collections.abc import Iterator
from pathlib import Path

import anycowork.app  # defines every error that the server has
from anycowork.domain.errors import AnyCoworkError, RequestFault, StorageFault

GERMAN = Path(__file__).resolve().parents[3] / "web" / "src" / "texts" / "de" / "refusals.ts"
# Their sentence is the whole news, and each is another one: a fixed text would take the place of what people need.
SAYS_WHAT_IS_WRONG = {"bad_request", "conflict", "invalid"}
# Met by programs, and in the terminal: the page sends no such request, or shows its own text.
NOT_ON_THE_PAGE = {
    "already_running",
    "already_started",
    "bad_json",
    "cannot_be_limited",
    "cannot_listen",
    "client_gone",
    "database_damaged",
    "foreign_origin",
    "idempotency_key_reused",
    "idempotency_unknown",
    "insufficient_quota",
    "method_not_allowed",
    "not_signed",
    "other_release",  # only workers read it
    "rate_limit_exceeded",
    "sign_on_unavailable",
    "too_deep",
    "trigger_disabled",
    "unknown_encoding",
    "wrong_host",
}


def test_each_refusal_has_a_german_text_or_is_listed_without_one() -> None:
    assert anycowork.app is not None
    texts = set(re.findall(r"^  ([a-z_]+):$|^  ([a-z_]+): \"", GERMAN.read_text("utf-8"), re.MULTILINE))
    german = {first or second for first, second in texts}
    codes = {error.code for base in (RequestFault, StorageFault) for error in _with_subclasses(base)}
    assert codes - german == SAYS_WHAT_IS_WRONG | NOT_ON_THE_PAGE
    assert german <= codes, "a text for a code that no error has"


def _with_subclasses(error: type[AnyCoworkError]) -> Iterator[type[AnyCoworkError]]:
    if error.__module__.startswith("anycowork."):  # tests define some too
        yield error
    for child in error.__subclasses__():
        yield from _with_subclasses(child)
