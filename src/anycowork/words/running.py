"""The one way from the command line to a headless run: `anycowork run` and `anycowork workflow run` both end here."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import typer

from anycowork.words.options import over


class How(TypedDict, total=False):
    """What is told of a run besides its words and its places."""

    role: str | None
    plan_file: Path | None
    max_cost: float | None
    seconds: float | None
    as_json: bool


def carried_out(
    context: typer.Context, words: Sequence[str], places: dict[str, object], **how: Unpack[How]
) -> typer.Exit:
    """Runs it; the exit to raise. `places` are flags of the settings."""
    from anycowork.commands.ordering import run_order

    return typer.Exit(run_order(over(context, places), os.environ, cwd=Path.cwd(), words=words, **how))
