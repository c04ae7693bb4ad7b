"""Which paths a person who types a few letters is offered first."""

from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.files import FoundPath
from anycowork.files.browser import best_matches

PATHS = ["README.md", "src/app.py", "src/api/routes.py", "tests/test_app.py", "docs/application.md", "Makefile"]


def found(query: str, *paths: str, limit: int = 10) -> list[str]:
    return [one.path for one in best_matches([FoundPath(path) for path in paths or PATHS], query, limit)]


def test_a_name_that_starts_with_the_query_comes_before_one_that_contains_it() -> None:
    assert found("app") == ["src/app.py", "docs/application.md", "tests/test_app.py", "src/api/routes.py"]


def test_letters_in_order_match_last() -> None:
    assert found("sar") == ["src/api/routes.py"]
    assert found("rout") == ["src/api/routes.py"]
    assert found("zzz") == []


def test_every_word_must_match_and_case_does_not_count() -> None:
    assert found("TESTS app") == ["tests/test_app.py"]
    assert found("tests readme") == []


def test_an_empty_query_gives_the_shortest_paths() -> None:
    assert found("", limit=2) == ["Makefile", "README.md"]


@given(st.lists(st.text(max_size=12), max_size=12), st.text(max_size=6))
def test_every_match_has_the_letters_in_order_and_none_is_missed(paths: list[str], query: str) -> None:
    matched = set(found(query, *paths, limit=len(paths) or 1)) if paths else set()
    for path in paths:
        assert (path in matched) == all(_in_order(path.casefold(), word) for word in query.casefold().split())


def _in_order(path: str, letters: str) -> bool:
    rest = iter(path)
    return all(letter in rest for letter in letters)
