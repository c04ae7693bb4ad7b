"""`anycowork run`: one request, headless. It never hangs and never decides for a person: open requests stay open.

Settings and plan are read first; contradictions among the arguments are refused with exit code 2.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from anycowork.cli.headless_run import HeadlessRun, RunCost, RunRequest, listed_prices
from anycowork.cli.jobs import print_audit, read_job
from anycowork.cli.options import Invocation, require_folder
from anycowork.cli.run_advice import advice_for
from anycowork.cli.run_outcome import RunEnding, RunOutcome
from anycowork.cli.run_progress import JsonReporter, Reporter, TextReporter
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stderr, stdout
from anycowork.client.http import ServerClient
from anycowork.config.known_models import known_models
from anycowork.config.settings import Settings
from anycowork.domain.bounded_json import read_json
from anycowork.domain.chats import Autonomy, role_named
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.plan import read_plan
from anycowork.domain.roles import Role
from anycowork.workflows.workflow_service import MOST_RUN_STEPS

MARGIN_SECONDS = 30.0
STOP_SECONDS = 10.0
FROM_STDIN = "-"
MOST_READ = 1_000_000  # bytes of a request


def run(settings: Settings, request: RunRequest, *, as_json: bool) -> int:
    """Runs the request and returns the exit code. Writes progress and answer meanwhile."""
    reporter: Reporter = JsonReporter(stdout()) if as_json else TextReporter(stdout(), stderr())
    try:
        return asyncio.run(_run(settings, request, reporter)).exit_code
    except AnyCoworkError as error:
        failed = RunOutcome(RunEnding.USAGE if isinstance(error, Invalid) else RunEnding.FAILED, error=error.message)
        reporter.finish(failed, chat_id=None, advice=[])
        return failed.exit_code


def read_plan_file(path: Path) -> Json:
    """Reads the plan in this file. Raises: Invalid if there is none."""
    try:
        parsed = read_json(path.read_bytes())
    except OSError as error:
        raise Invalid(f"The plan {path} cannot be read ({error.strerror}).", param="approved-plan") from error
    except ValueError as error:
        raise Invalid(f"The plan {path} is not JSON that can be read: {error}.", param="approved-plan") from error
    plan = read_plan(parsed) if isinstance(parsed, dict) else None
    if plan is None:
        raise Invalid(
            f"{path} contains no valid plan: it needs a 'goal' and 'steps', each with an 'action'. "
            "`anycowork run --role planner …` writes one.",
            param="approved-plan",
        )
    return plan.to_json()


def _spending(request: RunRequest, settings: Settings) -> RunCost:
    listed = listed_prices(known_models(settings.data_dir), settings.providers, os.environ)
    return RunCost(request.max_cost, settings.providers, listed)


async def _run(settings: Settings, request: RunRequest, reporter: Reporter) -> RunOutcome:
    async def work(address: ServerAddress) -> RunOutcome:
        async with ServerClient(address.url, address.token) as client:
            headless_run = HeadlessRun(client, request, _spending(request, settings), reporter)
            outcome = await _bounded(headless_run, _time_limit(request, settings))
            job = await read_job(client, headless_run.job_id) if headless_run.job_id else None
            advice = advice_for(outcome, headless_run.chat_id, address, settings, job=job)
            reporter.finish(outcome, chat_id=headless_run.chat_id, advice=advice)
            if headless_run.job_id and isinstance(reporter, TextReporter):
                await print_audit(client, headless_run.job_id, outcome)
        return outcome

    return await with_server(settings, work)


async def _bounded(headless_run: HeadlessRun, seconds: float) -> RunOutcome:
    """Returns the run's outcome; a signal or the time limit stops its turn."""
    async with asyncio.TaskGroup() as tasks:
        going = tasks.create_task(headless_run.go())
        with _signals_cancel(going) as signals:
            await asyncio.wait({going}, timeout=seconds)
            if going.done() and not going.cancelled():
                return going.result()
            going.cancel()
            await asyncio.wait({going})
            await asyncio.wait({tasks.create_task(headless_run.stop())}, timeout=STOP_SECONDS)
    if signals:
        return RunOutcome(RunEnding.STOPPED, error="Stopped; the chat is kept.")
    return RunOutcome(
        RunEnding.LIMIT, error=f"Not done after {seconds:g} seconds (--timeout), so the turn was stopped."
    )


@contextmanager
def _signals_cancel(task: asyncio.Task[RunOutcome]) -> Iterator[list[int]]:
    """While the block runs, Ctrl-C and SIGTERM cancel the task; the list holds the signals received."""
    loop, came = asyncio.get_running_loop(), list[int]()

    def take(number: int) -> None:
        came.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, take, number)
    try:
        yield came
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _time_limit(request: RunRequest, settings: Settings) -> float:
    """The turn ends by its own limit; the margin is for starting and recording."""
    if request.seconds is not None:
        return request.seconds
    return settings.turn_seconds * _step_factor(request) + MARGIN_SECONDS


def _step_factor(request: RunRequest) -> int:
    """Returns how often the turn's limit may apply: once per step of a plan or a workflow, whose number is not known here."""
    if request.plan is not None:
        steps = request.plan.get("steps")
        return max(1, len(steps)) if isinstance(steps, list) else 1
    if request.as_job:
        return MOST_RUN_STEPS
    is_workflow = request.request.startswith("/") and not request.request.startswith("//")
    return MOST_RUN_STEPS if is_workflow else 1


def read_run_request(
    invocation: Invocation,
    *,
    request_words: Sequence[str],
    role: str | None,
    plan_file: Path | None = None,
    allow: str | None = None,
    max_cost: float | None,
    seconds: float | None,
    as_json: bool,
    as_job: bool = False,
    parallel: int | None = None,
    review: bool = False,
    race: Sequence[str] | None = None,
) -> int:
    """Runs the typed request; returns the exit code. `request_words` are the shell's arguments: one, if the request was quoted."""
    try:
        settings = invocation.settings()
        _check_arguments(request_words, role, plan_file)
        workspace = settings.workspace or invocation.cwd
        require_folder(workspace)
        order = RunRequest(
            request=_request(request_words),
            workspace=workspace,
            role=role,
            model=settings.model,
            plan=read_plan_file(plan_file) if plan_file else None,
            max_cost=max_cost,
            seconds=seconds,
            autonomy=_autonomy(allow),
            as_job=as_job,
            job_options=_job_options(parallel, race or (), as_job=as_job, review=review),
        )
    except AnyCoworkError as error:
        return usage_error(error.message, as_json=as_json)
    return run(settings.model_copy(update={"workspace": workspace}), order, as_json=as_json)


def _check_arguments(request_words: Sequence[str], role: str | None, plan_file: Path | None) -> None:
    if len(request_words) > 1:
        raise Invalid(f"Put the request in quotes: anycowork run {' '.join(request_words)!r}.")
    if plan_file is None and not "".join(request_words).strip():
        raise Invalid(
            'Say what to do: anycowork run "…" (or - to read it from standard input), or name a plan with --approved-plan FILE.'
        )
    if plan_file is not None and role is not None and role_named(role) != Role.ACTOR:
        raise Invalid(f"The actor executes an approved plan; --role {role} cannot. Omit --role.")


def _job_options(parallel: int | None, race: Sequence[str], *, as_job: bool, review: bool) -> Json:
    """Those that were given, as the API names them. Raises: Invalid without a job."""
    options: Json = {
        **({} if parallel is None else {"parallel": parallel}),
        **({"commit": "job"} if review else {}),
        **({"race": [*race]} if race else {}),
    }
    if options and not as_job:
        raise Invalid("--parallel, --review and --race are options of a job. Add --job.")
    return options


def _autonomy(allow: str | None) -> Autonomy:
    autonomy = next((level for level in Autonomy if level.value == allow), None)
    if allow is not None and autonomy is None:
        raise Invalid(f"--allow does not know '{allow}'. Choose one of: {', '.join(Autonomy)}.")
    return autonomy or Autonomy.ASK


def _request(request_words: Sequence[str]) -> str:
    if list(request_words) != [FROM_STDIN]:
        return "".join(request_words)
    if sys.stdin is None:
        raise Invalid("Standard input is closed, so there is no request to read from it.")
    if sys.stdin.isatty():
        stderr().line("Type the request; end it with Ctrl-D on an empty line.")
    try:
        data = sys.stdin.buffer.read(MOST_READ + 1)
    except OSError as error:
        raise Invalid(f"The request on standard input cannot be read ({error.strerror}).") from error
    if not data.strip() or len(data) > MOST_READ:
        raise Invalid(f"The request on standard input is {f'longer than {MOST_READ:,} bytes' if data else 'empty'}.")
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise Invalid("The request on standard input is not text in UTF-8.") from None


def usage_error(problem: str, *, as_json: bool) -> int:
    """Reports why nothing was run, to a person or to a program; returns the exit code."""
    outcome = RunOutcome(RunEnding.USAGE, error=problem)
    if as_json:
        JsonReporter(stdout()).finish(outcome, chat_id=None, advice=[])
    else:
        stderr().line(f"anycowork run: {problem}")
    return outcome.exit_code
