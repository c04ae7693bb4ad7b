"""The command line's groups: which module has which commands, in which order `--help` lists them, and how it describes them: for people,
without the names of Python types that typer adds by default."""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

COMMAND_ORDER = (
    *("serve", "open", "chat", "run"),
    *("chats", "search", "export", "import"),
    *(
        "jobs",
        "agents",
        "workflow",
        "schedules",
        "triggers",
        "notifications",
        "skills",
        "role",
        "instructions",
        "workspaces",
    ),
    *("model", "mcp", "acp"),
    *("doctor", "usage", "people", "limits", "audit", "verify", "database", "worker", "workers"),
    *("version", "help"),
)
"""What a newcomer needs first stands first."""


class LazyGroup(NamedTuple):
    """`app` of the module has the commands."""

    module: str
    summary: str


GROUPS = {
    "chats": LazyGroup("anycowork.cli.chats", "List the chats, newest first."),
    "jobs": LazyGroup("anycowork.cli.jobs", "List, approve, follow, stop and review jobs."),
    "workflow": LazyGroup("anycowork.cli.workflows", "Run, list and create workflows."),
    "schedules": LazyGroup("anycowork.cli.schedules", "Start workflows and templates at their times."),
    "triggers": LazyGroup("anycowork.cli.triggers", "Start workflows and templates on signed requests."),
    "notifications": LazyGroup("anycowork.cli.notifications", "Be told when something waits for you."),
    "skills": LazyGroup("anycowork.cli.skills", "List, add, check and remove skills."),
    "role": LazyGroup("anycowork.cli.roles", "List, show and check roles."),
    "workspaces": LazyGroup("anycowork.cli.workspaces", "List the workspaces, and say who sees each."),
    "model": LazyGroup("anycowork.cli.models", "Connect models, or download one for this machine."),
    "mcp": LazyGroup("anycowork.cli.mcp_commands", "Use the tools of MCP servers, or be one."),
    "people": LazyGroup("anycowork.cli.people", "List, add and remove people."),
    "limits": LazyGroup("anycowork.cli.limits", "Show and set limits of a day."),
    "audit": LazyGroup("anycowork.cli.audit", "The log of every decision and effect, chained by hashes."),
    "workers": LazyGroup("anycowork.cli.workers", "Invite, list and remove workers."),
    "database": LazyGroup("anycowork.cli.database", "The database that keeps the chats."),
}
_Command = TypeVar("_Command", bound=Callable[..., Any])


class PlainHelpCommand(TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # Any: typer does not export what it passes on
        """Writes a required argument as FILE; typer writes {FILE}, which elsewhere means a choice."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_options(self, ctx, formatter)


class PlainHelpGroup(TyperGroup):
    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)


class MainGroup(TyperGroup):
    """Has the commands of `GROUPS` without importing their modules until one is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the commands in our order; a new one that has no place yet comes last."""
        return sorted(
            {*super().list_commands(ctx), *GROUPS},
            key=lambda name: COMMAND_ORDER.index(name) if name in COMMAND_ORDER else len(COMMAND_ORDER),
        )

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in GROUPS and cmd_name not in self.commands:
            group = typer.main.get_group(import_module(GROUPS[cmd_name].module).app)
            group.name = cmd_name
            self.commands[cmd_name] = group
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        width = formatter.width - 6 - max(map(len, names))
        rows = [
            (name, GROUPS[name].summary if name in GROUPS else self.commands[name].get_short_help_str(width))
            for name in names
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class CommandGroup(typer.Typer):
    """Holds commands whose help is plain."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            rich_markup_mode=None, **{"cls": PlainHelpGroup, **options}
        )  # it would cost 0.4 CPU seconds at every --help

    def command(self, *args: Any, **options: Any) -> Callable[[_Command], _Command]:  # Any: typer's own, handed on
        return super().command(*args, **{"cls": PlainHelpCommand, **options})


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        rows = [
            (_name(param, record[0]), _plain_range(record[1]))
            for param in command.get_params(ctx)
            if param.param_type_name == kind and (record := param.get_help_record(ctx)) is not None
        ]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _name(param: Any, name_and_type: str) -> str:
    """Returns an argument's name without its type. An option keeps what it takes: typer prints the metavar, or the choices."""
    return str(param.display_name_raw) if param.param_type_name == "argument" else name_and_type


def _plain_range(description: str) -> str:
    """Writes `[1<=x<=64]` as `[1 to 64]`, and `[x>=0.1]` as `[at least 0.1]`."""
    described = re.sub(r"([\d.]{1,9})<=x<=([\d.]{1,9})", r"\1 to \2", description)
    return re.sub(r"x>=([\d.]{1,9})", r"at least \1", described)
