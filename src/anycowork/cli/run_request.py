"""Turns the arguments of `anycowork run` into a request: reads settings and plan, refuses contradictions with exit code 2."""

import sys
from collections.abc import Sequence
from pathlib import Path

from anycowork.cli.headless_run import RunRequest
from anycowork.cli.options import Invocation, require_folder
from anycowork.cli.run import read_plan_file, run
from anycowork.cli.run_outcome import RunEnding, RunOutcome
from anycowork.cli.run_progress import JsonReporter
from anycowork.client.console import stderr, stdout
from anycowork.domain.chats import Autonomy, role_named
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.roles import Role

FROM_STDIN = "-"
MOST_READ = 1_000_000  # bytes of a request


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
