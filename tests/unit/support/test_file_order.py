"""In which order test files are given to the workers."""

from pathlib import Path

from support.file_order import _FILE_COST, ordered_files

ROOT = Path(__file__).resolve().parents[3]

TESTS = {
    "tests/unit/test_many.py": 5_000,
    "tests/e2e/test_web_small.py": 2,
    "tests/e2e/test_web_large.py": 20,
    "tests/e2e/test_web_middle.py": 10,
    "tests/attacks/test_few.py": 50,
    "tests/attacks/test_more.py": 100,
    "tests/unit/test_few.py": 3,
}


def test_dear_files_of_each_folder_come_first_and_unit_tests_last() -> None:
    names = ordered_files(TESTS)
    assert set(names[:2]) == {"tests/e2e/test_web_large.py", "tests/attacks/test_more.py"}
    assert names[-2:] == ["tests/unit/test_many.py", "tests/unit/test_few.py"]


def test_files_of_one_folder_are_not_given_one_after_the_other() -> None:
    folders = [name.split("/")[1] for name in ordered_files(TESTS)][:4]
    assert folders in (["e2e", "attacks", "e2e", "attacks"], ["attacks", "e2e", "attacks", "e2e"])


def test_every_worker_finds_the_same_order() -> None:
    assert ordered_files(TESTS) == ordered_files(dict(reversed(TESTS.items())))


def test_file_of_few_dear_tests_comes_before_one_of_many() -> None:
    names = ordered_files({"tests/e2e/test_web_many.py": 20, "tests/e2e/test_web_screens.py": 4})
    assert names[0] == "tests/e2e/test_web_screens.py"


def test_every_file_that_is_known_to_be_dear_exists() -> None:
    assert [name for name in _FILE_COST if not (ROOT / name).is_file()] == []
