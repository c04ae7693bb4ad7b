"""From the words of `anycowork run` to an order: settings read, plan read, contradictions refused with exit code 2."""

from collections.abc import Mapping
from pathlib import Path

from anycowork.commands.console import stderr
from anycowork.commands.outcome import EXIT_CODES, Ending
from anycowork.commands.run import read_plan_file, run
from anycowork.commands.walk import Order
from anycowork.domain.chats import role_named
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.roles import Role
from anycowork.settings import load_settings


def run_order(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    cwd: Path,
    request: str | None,
    role: str | None,
    plan_file: Path | None,
    max_cost: float | None,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Runs what was typed; the exit code."""
    try:
        settings = load_settings(flags, environ, cwd=cwd)
        _require_sense(request, role, plan_file)
        workspace = settings.workspace or cwd
        if not workspace.is_dir():
            raise Invalid(f"The workspace {workspace} is no folder. Make it, or name another with --workspace.")
        order = Order(
            request=request or "",
            workspace=workspace,
            role=role,
            model=settings.model,
            plan=read_plan_file(plan_file) if plan_file else None,
            max_cost=max_cost,
            seconds=seconds,
        )
    except AnyCoworkError as error:
        stderr().line(f"anycowork run: {error.message}")
        return EXIT_CODES[Ending.USAGE]
    return run(settings.model_copy(update={"workspace": workspace}), order, as_json=as_json)


def _require_sense(request: str | None, role: str | None, plan_file: Path | None) -> None:
    if plan_file is None and not (request or "").strip():
        raise Invalid('Say what to do: anycowork run "…", or name a plan with --approved-plan FILE.')
    if plan_file is not None and request is not None:
        raise Invalid("An approved plan says itself what to do: give a request or --approved-plan, not both.")
    if plan_file is not None and role is not None and role_named(role) != Role.ACTOR:
        raise Invalid(f"An approved plan is carried out by the actor; --role {role} cannot. Leave --role away.")
