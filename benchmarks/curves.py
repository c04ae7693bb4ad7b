"""Draws curves as SVG, both axes logarithmic: `python benchmarks/curves.py benchmarks/results/records.json docs/records.svg`.

The file names the `chart`, and for each of the `curves` its points: a number of things, and what they cost. Without arguments it draws
docs/large-files.svg from the files large_files_SYSTEM_SIZE.json, which `make bench ARGS="large_work --size SIZE --save …"` leaves.
"""

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

Points = Sequence[Sequence[float]]
WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 230, 40, 50
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#0a7ea4", "#bf3989", "#57606a")


_ROOT = Path(__file__).resolve().parent.parent
_RESULT = re.compile(r"large_files_([a-z0-9]+)_([0-9]+)")
_LEGS = {"append_ours": "append", "append_plain": "append", "create_ours": "make", "create_plain": "make",
         "restore_ours": "restore", "restore_git": "restore"}  # fmt: skip
_PLAINLY = ", plainly"  # ends the name of a curve that is dashed, in the colour of the curve without it


def main(words: Sequence[str]) -> int:
    if not words:
        (_ROOT / "docs/large-files.svg").write_text(
            drawn("CPU milliseconds by the number of files", large_files()), "utf-8"
        )
        return 0
    source, target = map(Path, words)
    found = json.loads(source.read_text("utf-8"))
    target.write_text(drawn(found["chart"], found["curves"]), "utf-8")
    return 0


def large_files() -> dict[str, list[tuple[float, float]]]:
    """The CPU of each kind of large work on each file system, by the number of files, beside the same work done plainly."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for path in (_ROOT / "benchmarks/results").glob("large_files_*.json"):
        if (named := _RESULT.fullmatch(path.stem)) is None:
            continue
        figures = json.loads(path.read_text("utf-8"))["figures"]
        for leg, work in _LEGS.items():
            if (found := figures.get(f"large_work.{leg}.cpu_ms")) is not None:
                name = f"{work}, {named[1]}{'' if leg.endswith('ours') else _PLAINLY}"
                curves.setdefault(name, []).append((float(named[2]), found["median"]))
    return {name: sorted(curves[name]) for name in sorted(curves)}


def drawn(title: str, curves: Mapping[str, Points]) -> str:
    """The whole picture. The size of the picture, its text and its colours are fixed, so that the same numbers give the same bytes."""
    return "\n".join(_lines(title, curves)) + "\n"


def _lines(title: str, curves: Mapping[str, Points]) -> Iterator[str]:
    points = [point for curve in curves.values() for point in curve]
    across = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>'
    for value in across.marks():
        x = across.at(value)
        yield f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#d0d7de"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:,.0f}</text>'
    for value in up.marks():
        y = up.at(value)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d0d7de"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:,.0f}</text>'
    own = list(dict.fromkeys(name.removesuffix(_PLAINLY) for name in curves))
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[own.index(name.removesuffix(_PLAINLY)) % len(COLOURS)]
        dashes = ' stroke-dasharray="5 4"' if name.endswith(_PLAINLY) else ""
        path = "L".join(f"{across.at(x):.1f} {up.at(y):.1f}" for x, y in curve)
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        y = TOP + 20 + 22 * number
        yield f'<path d="M{WIDTH - RIGHT + 14} {y - 4}h20" stroke="{colour}" stroke-width="2"{dashes}/>'
        yield f'<text x="{WIDTH - RIGHT + 40}" y="{y}">{escape(name)}</text>'
    yield "</svg>"


class _Axis:
    """Whole powers of ten around the values, laid out from `first` to `last`."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self._low = math.floor(math.log10(min(values)))
        self._high = max(math.ceil(math.log10(max(values))), self._low + 1)
        self._first, self._last = first, last

    def marks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._first + share * (self._last - self._first)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
