"""`make bench`: runs the benchmarks side by side, prints what was found, keeps it, and ends with 1 if a target is missed."""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from statistics import median

from judging import Judgement, Target, breached, judge, read_targets
from measuring import BENCH_FOLDER, Ground, Measured, in_rounds, machine

HERE = Path(__file__).parent
BENCHMARKS = (
    "agent_loop",
    "evidence",
    "origins",
    "appends",
    "jobs",
    "job_memory",
    "task_starts",
    "joined_workers",
    "startup",
    "last_200",
    "sse_fanout",
    "imports",
    "editor_start",
    "mcp_calls",
    "web_pages",
    "terminal",
    "snapshots",
    "gateway",
    "sandbox",
    "large_work",
    "many_chats",
    "many_records",
    "database_records",
    "database_tasks",
    "long_chat",
)


def main(words: Sequence[str]) -> int:
    asked = _arguments(words)
    began = machine()
    figures: dict[str, list[float]] = {}
    missing: dict[str, str] = {}
    for name in asked.names or BENCHMARKS:
        measured = _measure(name, asked.rounds, asked.on, asked.size)
        figures |= {f"{name}.{figure}": values for figure, values in measured.figures.items()}
        missing |= {f"{name}.{leg}": reason for leg, reason in measured.missing.items()}
    wanted = asked.names or BENCHMARKS
    judgements = [judge(target, figures) for target in targets() if target.benchmark in wanted]
    print(verdicts(judgements))
    on = {**began, "load_at_the_end": machine()["load"]}
    kept = _keep(asked.save, result(on, asked.rounds, figures, missing, judgements))
    print(f"\nKept in {kept.relative_to(HERE.parent)}")
    return 1 if breached(judgements) else 0


def targets() -> list[Target]:
    return read_targets((HERE / "targets.toml").read_text("utf-8"))


def table(name: str, question: str, measured: Measured) -> str:
    """Every figure of one benchmark: the median of the rounds, and how far apart the rounds were."""
    lines = [f"\n{name}: {question}", f"  {'':<42}{'median':>12}  spread"]
    for figure, values in sorted(measured.figures.items()):
        spread = (max(values) - min(values)) / median(values) if median(values) else 0.0
        lines.append(f"  {figure:<42}{_short(median(values)):>12}  ±{spread / 2:.0%}")
    lines += [f"  {leg:<42}{'not measured':>12}  {reason}" for leg, reason in measured.missing.items()]
    return "\n".join(lines)


def verdicts(judgements: Sequence[Judgement]) -> str:
    lines = ["\nTargets"]
    for judgement in judgements:
        target = judgement.target
        found = "-" if judgement.value is None else _short(judgement.value)
        lines.append(f"  {judgement.verdict:<13}{found:>8} {target.op} {target.bound:<6g} {target.name}")
    return "\n".join(lines)


def result(
    machine: Mapping[str, object],
    rounds: int,
    figures: Mapping[str, Sequence[float]],
    missing: Mapping[str, str],
    judgements: Sequence[Judgement],
) -> dict[str, object]:
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "rounds": rounds,
        "figures": {
            name: {"median": round(median(values), 4), "rounds": [round(value, 4) for value in values]}
            for name, values in sorted(figures.items())
        },
        "not_measured": missing,
        "targets": [
            {
                "name": judgement.target.name,
                "verdict": judgement.verdict.value,
                "value": None if judgement.value is None else round(judgement.value, 3),
                "op": judgement.target.op.value,
                "bound": judgement.target.bound,
            }
            for judgement in judgements
        ],
    }


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], metavar="benchmark", help=", ".join(BENCHMARKS))
    parser.add_argument("--rounds", type=int, default=5, help="how often every side is run [5]")
    parser.add_argument(
        "--size",
        type=int,
        help="files of large_work [20,000], chats of many_chats [10,000], records of many_records and database_records [1,000,000]",
    )
    parser.add_argument("--on", type=Path, default=BENCH_FOLDER, metavar="FOLDER", help="where the files lie [.bench]")
    parser.add_argument("--save", metavar="NAME", help="keep the result as results/NAME.json [latest.local]")
    return parser.parse_args(words)


def _measure(name: str, rounds: int, on: Path, size: int | None) -> Measured:
    benchmark = import_module(name)
    print(f"measuring {name} …", file=sys.stderr, flush=True)
    folder = on / "ground"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with benchmark.legs(Ground(folder, size)) as legs:
        measured = in_rounds(legs, rounds)
    shutil.rmtree(folder, ignore_errors=True)
    print(table(name, benchmark.QUESTION, measured), flush=True)
    return measured


def _keep(name: str | None, found: Mapping[str, object]) -> Path:
    path = HERE / "results" / f"{name or 'latest.local'}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
