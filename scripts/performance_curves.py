"""Draws docs/large-files.svg from benchmarks/results/large_files_*.json: CPU against the number of files, ours beside the plain operation.

Run it after `make bench ARGS="large_work --size N --on FOLDER --save large_files_SYSTEM_N"`, for example with tmpfs as SYSTEM.
"""

import json
import math
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs/large-files.svg"
RESULT = re.compile(r"large_files_([a-z0-9]+)_([0-9]+)")
PANELS = (
    ("append a line", "append_ours", "append_plain"),
    ("make new files", "create_ours", "create_plain"),
    ("restore", "restore_ours", "restore_git"),
)
COLOURS = {"tmpfs": "#1f6feb", "ext4": "#bf5b04"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 250, 220, 56, 40, 40
LEAST_MS, MOST_MS = 10, 100_000

Points = dict[str, dict[int, dict[str, float]]]


def main() -> None:
    TARGET.write_text(drawn(measured()), "utf-8")


def measured() -> Points:
    """Returns CPU milliseconds by file system, number of files and leg."""
    found: Points = {}
    for path in sorted((ROOT / "benchmarks/results").glob("large_files_*.json")):
        named = RESULT.fullmatch(path.stem)
        if named is None:
            continue
        figures = json.loads(path.read_text("utf-8"))["figures"]
        legs = {name.split(".")[1]: value["median"] for name, value in figures.items() if name.endswith(".cpu_ms")}
        found.setdefault(named[1], {})[int(named[2])] = legs
    return found


def drawn(points: Points) -> str:
    sizes = sorted({size for by_size in points.values() for size in by_size})
    width = LEFT + len(PANELS) * (WIDTH + GAP)
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 70}" font-family="sans-serif" font-size="11">',
        "<title>CPU of large work against the number of files, beside the same work done plainly</title>",
        f'<rect width="{width}" height="{TOP + HEIGHT + 70}" fill="#ffffff"/>',
    ]
    for at, (title, ours, plain) in enumerate(PANELS):
        pieces += _panel(LEFT + at * (WIDTH + GAP), title, (ours, plain), points, sizes)
    pieces += _legend(points)
    return "\n".join([*pieces, "</svg>", ""])


def _panel(left: int, title: str, legs: tuple[str, str], points: Points, sizes: list[int]) -> list[str]:
    pieces = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>']
    for power in range(int(math.log10(LEAST_MS)), int(math.log10(MOST_MS)) + 1):
        y = _y(10**power)
        pieces.append(f'<line x1="{left}" y1="{y}" x2="{left + WIDTH}" y2="{y}" stroke="#dddddd"/>')
        pieces.append(
            f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{10**power:,} ms</text>' if left == LEFT else ""
        )
    for size in sizes:
        x = _x(left, size, sizes)
        pieces.append(f'<text x="{x}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{size:,}</text>')
    for system, by_size in points.items():
        for leg, dashes in zip(legs, ("none", "5 4"), strict=True):
            dots = [(_x(left, size, sizes), _y(by_size[size][leg])) for size in sorted(by_size) if leg in by_size[size]]
            line = " ".join(f"{x},{y}" for x, y in dots)
            colour = COLOURS.get(system, "#444444")
            pieces.append(
                f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
            )
            pieces += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in dots]
    return pieces


def _legend(points: Points) -> list[str]:
    pieces, x, y = [], LEFT, TOP + HEIGHT + 42
    for system in points:
        colour = COLOURS.get(system, "#444444")
        for dashes, words in (("none", f"AnyCowork, {system}"), ("5 4", f"plainly, {system}")):
            line = f'x1="{x}" y1="{y}" x2="{x + 26}" y2="{y}"'
            pieces.append(f'<line {line} stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
            pieces.append(f'<text x="{x + 32}" y="{y + 4}">{words}</text>')
            x += 190
    return pieces


def _x(left: int, size: int, sizes: list[int]) -> float:
    span = math.log(sizes[-1] / sizes[0]) or 1.0
    return round(left + 14 + (WIDTH - 28) * math.log(size / sizes[0]) / span, 1)


def _y(milliseconds: float) -> float:
    span = math.log(MOST_MS / LEAST_MS)
    return round(TOP + HEIGHT - HEIGHT * math.log(max(milliseconds, LEAST_MS) / LEAST_MS) / span, 1)


if __name__ == "__main__":
    main()
