"""What counts as a named attempt: every case of `tests/attacks/`, but those that are about the suite itself.

A test that makes many attempts one after another, in one sandbox or server, asks for the fixture `attempts`: each case counts, and a
failure names every case that failed.
"""

from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable
from pathlib import Path
from typing import TypeVar

import pytest

ATTACKS = Path(__file__).resolve().parents[1] / "attacks"
HELD, NOT_HELD = "attempt", "attempt that got through"
_ABOUT_THE_SUITE = ("test_mechanisms", "test_count")
Case = TypeVar("Case")


def holds_attempts(file: Path) -> bool:
    return file.parent == ATTACKS and not file.name.startswith(_ABOUT_THE_SUITE)


class Attempts:
    """The attempts of one test. Each case must have a name of its own."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        item.user_properties[:] = [one for one in item.user_properties if one[0] != HELD]  # the cases count instead
        self._names: set[str] = set()

    async def each(self, cases: Iterable[Case], attempt: Callable[[Case], Awaitable[None] | None]) -> None:
        """Make every attempt, whatever became of the others. Fails with the names of all that got through."""
        failures = []
        for case in cases:
            name = self._begin(case)
            try:
                made = attempt(case)
                if isawaitable(made):
                    await made
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # every way to fail counts
                failures.append(self._failure(name, error))
            else:
                self._item.user_properties.append((HELD, name))
        self._require_none(failures)

    def every(self, cases: Iterable[Case], attempt: Callable[[Case], None]) -> None:
        """As `each`, for attempts that do not wait."""
        failures = []
        for case in cases:
            name = self._begin(case)
            try:
                attempt(case)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # every way to fail counts
                failures.append(self._failure(name, error))
            else:
                self._item.user_properties.append((HELD, name))
        self._require_none(failures)

    def _begin(self, case: object) -> str:
        name = f"{self._item.name}[{case}]"
        assert name not in self._names, f"two cases are called {name}"
        self._names.add(name)
        return name

    def _failure(self, name: str, error: BaseException) -> str:
        self._item.user_properties.append((NOT_HELD, name))
        return f"{name}: {type(error).__name__}: {str(error)[:1_000]}"

    def _require_none(self, failures: list[str]) -> None:
        assert self._names, "there was no case"
        if failures:
            raise AssertionError(f"{len(failures)} of {len(self._names)} attempts got through:\n" + "\n".join(failures))
