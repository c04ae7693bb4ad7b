"""What several commands take: options, paths that must be there, and the hashes of what a person has read."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from urllib.parse import urlsplit

import typer

from anycowork.cli.completion import role_names

if TYPE_CHECKING:
    from anycowork.config.settings import Settings
from anycowork.domain.errors import ContentChanged, Invalid

SHOWN = 32  # digits, 128 bits: two contents that share 12 digits are found in seconds, and one takes the other's place unread


def folder(text: str) -> Path:
    """Parses a folder as typed. An empty text is an error: "$UNSET" would otherwise mean the current folder."""
    if not text.strip():
        raise typer.BadParameter("it is empty. Was a variable not set?")
    return Path(text)


DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", parser=folder, help="Where chats, settings and the token are kept.", metavar="DIR"),
]
Workspace = Annotated[
    Path | None, typer.Option("--workspace", "-w", parser=folder, help="The folder to work in.", metavar="DIR")
]
WorkspaceOrHere = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", parser=folder, help="The folder to work in. [the current one]", metavar="DIR"),
]
Who = Annotated[
    str | None,
    typer.Argument(
        help="Who may see it from now on: private, everyone, or group: and a group's name. Without it nothing changes.",
        metavar="WHO",
    ),
]
Host = Annotated[
    str | None,
    typer.Option("--host", help="Address to listen on; another than 127.0.0.1 needs a token.", metavar="HOST"),
]
Port = Annotated[
    int | None, typer.Option("--port", "-p", help="Port to listen on; 0 takes any free one. [8484]", metavar="PORT")
]
Token = Annotated[
    str | None, typer.Option("--token", help="The access token; better given as ANYCOWORK_TOKEN.", metavar="TOKEN")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="Keep chats in PostgreSQL: postgresql://…; a password is better given as ANYCOWORK_DATABASE_URL.",
        metavar="URL",
    ),
]


def without_password(url: str) -> str:
    """Refuses a URL with a password: other users of this machine see the arguments of a program."""
    parts = urlsplit(url)
    if parts.password or "password=" in parts.query:
        raise typer.BadParameter(
            "other users of this machine see the arguments of a program. Give a URL with a password as ANYCOWORK_DATABASE_URL, or leave"
            " the password out and set PGPASSWORD or PGPASSFILE."
        )
    return url


MostJobs = Annotated[
    int,
    typer.Option("--jobs", min=1, max=100, help="How many jobs, or commands of a server, run at once.", metavar="N"),
]
JoinUrl = Annotated[
    str | None, typer.Option("--join", help="Join this server over HTTP instead of a database.", metavar="URL")
]
JoinToken = Annotated[
    str | None,
    typer.Option("--token", help="The join token, good once.", envvar="ANYCOWORK_JOIN_TOKEN", metavar="TOKEN"),
]
Labels = Annotated[
    str | None, typer.Option("--labels", help="What the worker offers, such as gpu,node20.", metavar="LABELS")
]
CacheFolder = Annotated[
    Path | None, typer.Option("--cache", help="Where a joined worker keeps contents.", metavar="DIR")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Allow plain HTTP to another machine, such as through a tunnel.")
]
DatabaseWithoutPassword = Annotated[
    str | None,
    typer.Option(
        "--db",
        parser=without_password,
        help="The database to join: postgresql://…; a password is given as ANYCOWORK_DATABASE_URL instead.",
        metavar="URL",
    ),
]
Model = Annotated[
    str | None, typer.Option("--model", "-m", help="The model to use, as provider/model.", metavar="MODEL")
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Role = Annotated[
    str | None,
    typer.Option(
        "--role", "-r", help="The role: planner, actor, reviewer, … [actor]", metavar="ROLE", autocompletion=role_names
    ),
]
Events = Annotated[bool, typer.Option("--json", help="One event per line on stdout, the result last.")]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", help="Stop when it has cost more than this, in $.", min=0, metavar="USD")
]
Allow = Annotated[
    str | None,
    typer.Option(
        "--allow", help="What is allowed without asking: edits, or sandboxed (commands, too).", metavar="LEVEL"
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", help="Stop after this many seconds. [the turn's limit]", min=0.1, metavar="S"),
]


class Invocation(NamedTuple):
    """How a command was started: its flags, the environment and the current folder."""

    flags: Mapping[str, object]
    environ: Mapping[str, str]
    cwd: Path

    def settings(self) -> "Settings":
        """Raises: BadSettings."""
        from anycowork.config.loading import load_settings  # loads pydantic, which `--help` does without

        return load_settings(self.flags, self.environ, cwd=self.cwd)


def invoked(context: typer.Context, **flags: object) -> Invocation:
    """A flag may come before or after the command; the one after it wins."""
    before: dict[str, object] = context.obj or {}
    after = {name: value for name, value in flags.items() if value is not None}
    return Invocation({**before, **after}, os.environ, Path.cwd())


def shown_hash(whole: str) -> str:
    """Returns what a person is shown of it, and names again."""
    return whole[:SHOWN]


def require_digits(begun: str, option: str) -> None:
    """Raises: Invalid."""
    if not SHOWN <= len(begun) <= 64 or set(begun) - set("0123456789abcdef"):
        raise Invalid(f"{option} takes the hash of what you have read, at least {SHOWN} of its digits.")


def whole_hash(now: str, begun: str, name: str) -> str:
    """Returns the hash of what is there now, if it is what was read. Raises: ContentChanged."""
    if not now.startswith(begun):
        raise ContentChanged(f"'{name}' is not what you have read (its hash is {now} now). Read it again.")
    return now


def require_folder(workspace: Path) -> None:
    """The server checks the rest. Raises: Invalid."""
    try:
        if workspace.is_dir():
            return
    except PermissionError:
        raise Invalid(f"You cannot read {workspace}. Name another folder with --workspace.") from None
    raise Invalid(f"The workspace {workspace} is not a folder. Create it, or name another with --workspace.")


def require_readable_file(path: Path) -> None:
    """A pipe counts as a file, so nothing is opened here: that would take what is in it. Raises: Invalid."""
    reason = _why_unreadable(path)
    if reason is not None:
        raise Invalid(f"{path} cannot be read ({reason}).")


def _why_unreadable(path: Path) -> str | None:
    try:
        path.stat()
    except OSError as error:
        return error.strerror
    if path.is_dir():
        return "Is a directory"
    return None if os.access(path, os.R_OK) else "Permission denied"
