"""`anycowork usage`: shows what models were used for, and what that cost."""

from datetime import date
from urllib.parse import urlencode

import typer

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import print_error
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, json_object, json_objects

_COLUMNS = ("requests", "prompt", "completion", "cached")


def show_usage(
    invocation: Invocation, *, by: str, since: str | None, until: str | None, limit: int, as_json: bool
) -> typer.Exit:
    """Prints a line for each chat, job, role, model, day, person or group, and the total."""

    async def work(client: ServerClient) -> None:
        query = {"by": by, "since": since, "until": until, "limit": str(limit)}
        report = await client.get(f"/usage?{urlencode({name: word for name, word in query.items() if word})}")
        print_answer(report, usage_lines(report), as_json=as_json)

    try:
        for option, day in (("--since", since), ("--until", until)):
            _require_day(option, day)
    except Invalid as error:
        return typer.Exit(print_error("usage", error))
    return run_with_server("usage", invocation, work)


def _require_day(option: str, day: str | None) -> None:
    """Raises: Invalid if it is not a day."""
    try:
        date.fromisoformat(day or "2026-11-01")
    except ValueError as error:
        raise Invalid(f"'{day}' is not a day. Write {option} as 2026-11-01.", param=option) from error


def usage_lines(report: Json) -> list[str]:
    """Returns the table. Lines below it say what the report leaves out."""
    rows, total = json_objects(report.get("rows")), json_object(report.get("total"))
    if not rows:
        return ["Nothing was used."]
    head = [str(report.get("by")), "requests", "input", "output", "cached", "cost"]
    table = [head, *(_cells(strip_controls(str(row.get("key"))), row) for row in rows), _cells("total", total)]
    widths = [max(len(line[column]) for line in table) for column in range(len(head))]
    lines = [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in table
    ]
    left_out = int(str(report.get("groups"))) - len(rows)
    if left_out > 0:
        lines.append(f"{left_out} more are in the total; --limit shows them.")
    if unpriced := total.get("unpriced_requests"):
        lines.append(f"The price of {unpriced} requests is not known; the cost leaves them out.")
    return lines


def _cells(name: str, row: Json) -> list[str]:
    return [name, *(str(row.get(column)) for column in _COLUMNS), _cost(row)]


def _cost(row: Json) -> str:
    cost = row.get("cost")
    if not isinstance(cost, int | float):
        return "unknown"
    return f"${cost:.4f}{'+' if row.get('unpriced_requests') else ''}"
