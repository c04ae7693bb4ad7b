"""How a command reports that it failed."""

from collections.abc import Collection

from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.client.console import stderr, strip_controls
from anycowork.client.errors import ServerRefused, with_way_out
from anycowork.domain.errors import AnyCoworkError, Invalid


def print_error(command: str, error: AnyCoworkError, usage_statuses: Collection[int] = ()) -> int:
    """Prints why the command failed; returns the exit code. A refusal with one of these statuses is a mistake in the arguments."""
    stderr().line(f"anycowork {command}: {strip_controls(with_way_out(error))}")
    mistyped = isinstance(error, Invalid) or (isinstance(error, ServerRefused) and error.status in usage_statuses)
    return EXIT_CODES[RunEnding.USAGE if mistyped else RunEnding.FAILED]
