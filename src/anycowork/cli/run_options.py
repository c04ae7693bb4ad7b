"""The shared path to a headless run: `anycowork run` and `anycowork workflow run` both end here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import typer

from anycowork.cli.command_groups import PlainHelpCommand
from anycowork.cli.options import invoked

# The base of all usage errors; typer exports only this child of it.
_Unreadable: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


class JsonErrorCommand(PlainHelpCommand):
    """A command whose `--json` also applies to usage errors: they are reported as a result."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: typer does not export what it passes on
        as_json = "--json" in args  # parsing consumes them
        try:
            return super().parse_args(ctx, args)
        except _Unreadable as error:
            if not as_json:
                raise
            from anycowork.cli.run import usage_error

            raise typer.Exit(usage_error(error.format_message(), as_json=True)) from None


class RunOptions(TypedDict, total=False):
    """Options of a run besides its request and its folders."""

    role: str | None
    plan_file: Path | None
    allow: str | None
    max_cost: float | None
    seconds: float | None
    as_json: bool
    as_job: bool
    parallel: int | None
    review: bool
    race: list[str] | None


def run_headless(
    context: typer.Context, request_words: Sequence[str], options: dict[str, object], **how: Unpack[RunOptions]
) -> typer.Exit:
    """Runs it; returns the exit to raise. `options` are flags of the settings."""
    from anycowork.cli.run import read_run_request

    return typer.Exit(read_run_request(invoked(context, **options), request_words=request_words, **how))
