"""The commands of the command line, as typer builds them."""

from typing import Any  # typer does not export the classes

import typer
from typer.main import get_command


def every_command(app: typer.Typer) -> dict[str, Any]:
    """Return the commands and groups by name, also those that are imported when they are used."""
    main: Any = get_command(app)
    return {name: main.get_command(None, name) for name in main.list_commands(None)}
