"""What `anycowork chats visibility` and `anycowork workspaces visibility` share: the argument, and how the answer is printed."""

from collections.abc import Mapping
from typing import Annotated

import typer
from pydantic import JsonValue

from anycowork.cli.server_command import print_answer
from anycowork.domain.visibility import described

Who = Annotated[
    str | None,
    typer.Argument(
        help="Who may see it from now on: private, everyone, or group: and a group's name. Without it nothing changes.",
        metavar="WHO",
    ),
]


def print_visibility(shown: Mapping[str, JsonValue], *, as_json: bool) -> None:
    """Prints who sees this chat or workspace."""
    answer = {name: shown[name] for name in ("id", "visibility", "owner")}
    print_answer(answer, [f"Who can see it: {described(str(shown['visibility']))}"], as_json=as_json)
