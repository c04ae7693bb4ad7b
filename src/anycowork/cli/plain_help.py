"""How `--help` describes arguments and options: for people, without the names of Python types that typer adds by default."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

_Command = TypeVar("_Command", bound=Callable[..., Any])


class PlainHelpCommand(TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # Any: typer does not export what it passes on
        """Write a required argument as FILE; typer writes {FILE}, which elsewhere means a choice."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = [
                (_name(param, record[0]), _plain_range(record[1]))
                for param in self.get_params(ctx)
                if param.param_type_name == kind and (record := param.get_help_record(ctx)) is not None
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class CommandGroup(typer.Typer):
    """Holds commands whose help is plain."""

    def command(self, *args: Any, **options: Any) -> Callable[[_Command], _Command]:  # Any: typer's own, handed on
        return super().command(*args, **{"cls": PlainHelpCommand, **options})


def _name(param: Any, name_and_type: str) -> str:
    """Return an argument's name without its type. An option keeps what it takes: typer prints the metavar, or the choices."""
    return str(param.display_name_raw) if param.param_type_name == "argument" else name_and_type


def _plain_range(description: str) -> str:
    """Write `[1<=x<=64]` as `[1 to 64]`, and `[x>=0.1]` as `[at least 0.1]`."""
    described = re.sub(r"([\d.]{1,9})<=x<=([\d.]{1,9})", r"\1 to \2", description)
    return re.sub(r"x>=([\d.]{1,9})", r"at least \1", described)
