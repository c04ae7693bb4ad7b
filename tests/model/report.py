"""What the runs came to: the results as they are stored, a table for the terminal and a page for the docs."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any  # stored JSON

from model.frozen_tasks import frozen_digest

PASSED, LATE = "passed", "out of time"
_TITLES = {"workplace": "AnyCowork", "bare": "bare loop", "constrained": "bare, constrained"}


@dataclass(frozen=True)
class Result:
    task: str
    half: str
    role: str
    way: str
    verdict: str
    seconds: float
    answer: str = ""
    log: tuple[str, ...] = ()
    harmed: tuple[str, ...] | None = None  # paths that changed although nothing asked for it; None: not counted

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Result":
        return cls(**stored)


def stored_results(path: Path) -> list[Result]:
    """Read what was measured before. A last line that a killed run did not finish is taken out: its task is measured again."""
    text = path.read_text() if path.is_file() else ""
    whole_lines = text[: text.rfind("\n") + 1]
    if whole_lines != text:
        path.write_text(whole_lines)
    return [Result.from_json(json.loads(line)) for line in whole_lines.splitlines()]


LAST_RUN = "## The last run"


def wilson(successes: int, tries: int, z: float = 1.96) -> tuple[float, float]:
    """The interval of a share at 95 %, which also holds near none and all."""
    if tries == 0:
        return 0.0, 1.0
    share, squared = successes / tries, z * z
    middle = (share + squared / (2 * tries)) / (1 + squared / tries)
    margin = z / (1 + squared / tries) * math.sqrt(share * (1 - share) / tries + squared / (4 * tries * tries))
    return max(0.0, middle - margin), min(1.0, middle + margin)


def table(results: list[Result]) -> str:
    ways = _ways(results)
    header = f"{'':<18}" + "".join(f"{title:>30}" for title in ways.values())
    return "\n".join([header, *(_row(title, some, ways) for title, some in _groups(results))])


def with_last_run(page: str, results: list[Result], *, model: str, machine: str, day: str, note: str = "") -> str:
    """Returns the page with its last section written anew: what stands above it is written by people. A task that did not run is counted
    nowhere. `note` is the measurer's own remark."""
    ways = _ways(results)
    singles = sorted({(r.half, r.role, r.task) for r in results})
    lines = [
        LAST_RUN,
        "",
        f"Measured on {day} with `{model}` at temperature 0 ({machine}) by `make test-model ARGS=--write`. The SHA-256 of the frozen tasks is",
        f"`{frozen_digest()}`. Behind each rate stand its Wilson interval and the harm.",
        *(["", note] if note else []),
        "",
        f"| | {' | '.join(ways.values())} |",
        f"|---|{'---|' * len(ways)}",
        *(f"| {title} | {' | '.join(_rate(some, way) for way in ways)} |" for title, some in _groups(results)),
        "",
        "### Every task",
        "",
        f"| half | role | task | {' | '.join(ways.values())} |",
        f"|---|---|---|{'---|' * len(ways)}",
        *(
            f"| {half} | {role} | {task} | {' | '.join(_single(results, task, way) for way in ways)} |"
            for half, role, task in singles
        ),
    ]
    return page.partition(f"{LAST_RUN}\n")[0] + "\n".join(lines) + "\n"


def _groups(results: list[Result]) -> list[tuple[str, list[Result]]]:
    roles = list(dict.fromkeys(r.role for r in results))
    groups = [
        (f"half: {half}", [r for r in results if r.half == half]) for half in ("frozen", "exercises", "report", "tune")
    ]
    groups += [(f"role: {role}", [r for r in results if r.role == role]) for role in roles]
    return [(title, some) for title, some in [*groups, ("all", results)] if some]


def _ways(results: list[Result]) -> dict[str, str]:
    """The ways that were measured, each with its title: first those that every run has, then what was switched off."""
    return {way: _TITLES.get(way, way) for way in dict.fromkeys([*_TITLES, *(r.way for r in results)])}


def _row(title: str, results: list[Result], ways: Iterable[str]) -> str:
    return f"{title:<18}" + "".join(f"{_rate(results, way):>30}" for way in ways)


def _rate(results: list[Result], way: str) -> str:
    mine = [r for r in results if r.way == way]
    if not mine:
        return "not run"
    passed = sum(r.verdict == PASSED for r in mine)
    low, high = wilson(passed, len(mine))
    counted = [r for r in mine if r.harmed is not None]
    harm = f", harm {sum(bool(r.harmed) for r in counted)}" if counted else ""
    return f"{passed} of {len(mine)} ({100 * low:.0f}-{100 * high:.0f} %{harm})"


def _single(results: list[Result], task: str, way: str) -> str:
    found = [r for r in results if (r.task, r.way) == (task, way)]
    return f"{found[-1].verdict}, {found[-1].seconds:.0f} s" if found else "not run"
