"""`make test-model`: small tasks through AnyCowork and through a bare loop, with the same model; the rate per role.

Each result is appended to a file at once, so that a run that was cut off goes on where it ended.
"""

import argparse
import asyncio
import json
import platform
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import aiohttp

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

from anycowork.config.settings import default_data_dir  # noqa: E402
from anycowork.providers.local.catalogue import DEFAULT  # noqa: E402  (run as a script: the path is set above)
from anycowork.providers.local.folder import ModelFolder  # noqa: E402
from anycowork.providers.local.supervisor import Supervisor  # noqa: E402
from model.bare import bare_loop  # noqa: E402
from model.exercises import EXERCISES_HALF, exercises  # noqa: E402
from model.former_tasks import FORMER  # noqa: E402
from model.frozen_tasks import FROZEN, harm  # noqa: E402
from model.report import Result, stored_results, table, with_last_run  # noqa: E402
from model.report_tasks import REPORT  # noqa: E402
from model.tasks import TUNE, Outcome, Task, in_fixed_order  # noqa: E402
from model.workplace import MECHANISMS, switched_off, through_the_workplace, workplace  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "model-results.md"
Way = Callable[[Task, Path], Awaitable[Outcome]]


def main() -> int:
    wanted = arguments()
    results = asyncio.run(measured(wanted))
    sys.stdout.write(f"{table(results)}\n")
    if wanted.write:
        day = datetime.now(UTC).date().isoformat()
        written = with_last_run(
            PAGE.read_text(), results, model=wanted.model, machine=_machine(), day=day, note=wanted.note
        )
        PAGE.write_text(written)
        sys.stdout.write(f"Written: {PAGE}\n")
    return 0


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--half", choices=["frozen", "tune", "report", "all", EXERCISES_HALF], default="all")
    words.add_argument("--ways", default="bare,constrained,workplace", help="with commas between them")
    words.add_argument(
        "--only", default="", help="tasks whose name contains this, or one of these with commas between them"
    )
    words.add_argument(
        "--from", dest="first", type=int, default=1, help="the first task in the fixed order, from 1: go on elsewhere"
    )
    words.add_argument("--most", type=int, help="how many tasks of that order at most")
    words.add_argument(
        "--exercises", type=Path, default=HERE.parents[1] / ".venv" / "exercism", help="a checkout of exercism/python"
    )
    words.add_argument("--model", default=DEFAULT)
    words.add_argument(
        "--models", type=Path, default=default_data_dir() / "models", help="the folder of fetched models"
    )
    words.add_argument(
        "--autonomy",
        default="ask",
        choices=["ask", "edits", "sandboxed"],
        help="of the chats in AnyCowork; checks run where commands in the sandbox need no answer",
    )
    words.add_argument("--url", help="a running server with this model instead, as http://host:port/v1")
    words.add_argument("--threads", type=int)
    words.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        help="for one task, at most 86,400: a slow machine needs more, or its load decides",
    )
    words.add_argument("--results", type=Path, default=HERE.parents[1] / ".venv" / "model-results.jsonl")
    words.add_argument("--again", action="store_true", help="forget what was measured before")
    words.add_argument("--note", default="", help="a remark for the page: the engine, the load")
    words.add_argument("--write", action="store_true", help="write the last section of docs/model-results.md")
    return words.parse_args(given)


async def measured(wanted: argparse.Namespace) -> list[Result]:
    """Measure what the results do not hold yet; return them all."""
    if wanted.again:
        wanted.results.unlink(missing_ok=True)
    done = stored_results(wanted.results)
    every = exercises(wanted.exercises) if wanted.half == EXERCISES_HALF else (*FROZEN, *REPORT, *TUNE, *FORMER)
    tasks = [
        task
        for task in every
        if wanted.half in ("all", task.half) and any(part in task.name for part in wanted.only.split(","))
    ]
    tasks = in_fixed_order(tasks)[max(wanted.first, 1) - 1 :][: wanted.most]
    known = {(result.task, result.way) for result in done}
    left = [(task, name) for task in tasks for name in wanted.ways.split(",") if (task.name, name) not in known]
    with tempfile.TemporaryDirectory(prefix="anycowork-model-") as home:
        async with AsyncExitStack() as stack:
            names = dict.fromkeys(name for _, name in left)
            ways = {name: await stack.enter_async_context(_WAYS[name](wanted, Path(home))) for name in names}
            for task, name in left:
                result = await _measured(task, name, ways[name], Path(home) / name, wanted.seconds)
                done.append(result)
                with wanted.results.open("a") as file:
                    file.write(json.dumps(result.to_json()) + "\n")
                sys.stdout.write(f"{name:<10} {task.role:<9} {task.name:<24} {result.verdict} {result.seconds:.0f} s\n")
                sys.stdout.flush()
    return [result for result in done if any(result.task == task.name for task in tasks)]


async def _measured(task: Task, name: str, way: Way, root: Path, seconds: float) -> Result:
    folder = root / task.name
    for path, text in task.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    verdict, outcome = "failed", None
    try:
        async with asyncio.timeout(seconds):
            outcome = await way(task, folder)
        verdict = "passed" if task.passed(outcome) else "failed"
    except TimeoutError:
        verdict = "out of time"
    answer, log = (outcome.answer, outcome.log) if outcome else ("", ())
    after = outcome or Outcome(folder, dict(task.files), "")  # a turn that ran out of time may have done harm
    harmed = None if task.may_change is None else tuple(harm(after, task.may_change))
    return Result(task.name, task.half, task.role, name, verdict, time.monotonic() - started, answer, log, harmed)


# --- the ways


@asynccontextmanager
async def _bare(wanted: argparse.Namespace, home: Path, *, constrained: bool) -> AsyncIterator[Way]:
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)))
        url, key = wanted.url, ""
        if url is None:
            weights = next(one for one in ModelFolder(wanted.models).ready() if one.model.name == wanted.model)
            supervisor = Supervisor(log=home / f"bare-{constrained}.log", idle_seconds=3_600.0, threads=wanted.threads)
            stack.push_async_callback(supervisor.aclose)
            address = await stack.enter_async_context(supervisor.running(weights))
            url, key = f"{address.url}/v1", address.secret

        async def way(task: Task, folder: Path) -> Outcome:
            asked = {"url": url, "key": key, "model": wanted.model, "session": session}
            return await bare_loop(task, folder, **asked, constrained=constrained)

        yield way


@asynccontextmanager
async def _workplace(wanted: argparse.Namespace, home: Path, *, without: str = "") -> AsyncIterator[Way]:
    data, root = home / f"data{without}", home / (f"without-{without}" if without else "workplace")
    for folder in (data, root):
        folder.mkdir(mode=0o700)
    (data / "models").symlink_to(wanted.models)
    async with workplace(
        data, root, url=wanted.url, model=wanted.model, threads=wanted.threads, seconds=wanted.seconds, without=without
    ) as person:

        async def way(task: Task, folder: Path) -> Outcome:
            with switched_off(without):
                return await through_the_workplace(task, folder, person, wanted.autonomy)

        yield way


_WAYS: dict[str, Callable[[argparse.Namespace, Path], AbstractAsyncContextManager[Way]]] = {
    "bare": partial(_bare, constrained=False),
    "constrained": partial(_bare, constrained=True),
    "workplace": _workplace,
    **{f"without-{name}": partial(_workplace, without=name) for name in MECHANISMS},
}


def _machine() -> str:
    import os

    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    raise SystemExit(main())
