"""`anycowork model …`"""

import os
from pathlib import Path
from typing import Annotated

import typer

from anycowork.words.options import DataDir, over

PULL_HELP = """Fetch a model that runs on this machine, about 1 GB; checked by its hash, and taken up where it was cut off.

The publisher's own file comes first, then a mirror of it. With --file a GGUF of your own is copied in, under NAME.

Examples:

\b
    anycowork model pull
    anycowork model pull qwen2.5-coder-0.5b
    anycowork model pull my-model --file ~/Downloads/my-model.gguf
"""

app = typer.Typer(help="Models that run on this machine, without an account.", no_args_is_help=True)


@app.command("pull", help=PULL_HELP, short_help="Fetch a model that runs on this machine, about 1 GB.")
def pull_model(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which one; `model list` names them.", show_default=False)] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A GGUF file of your own instead.", metavar="PATH")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands import local_models

    flags = over(context, {"data_dir": data_dir})
    raise typer.Exit(local_models.pull(flags, os.environ, cwd=Path.cwd(), name=name, file=file))


@app.command("list")
def list_models(context: typer.Context, data_dir: DataDir = None) -> None:
    """Say which models there are, what they need, and which are here."""
    from anycowork.commands import local_models

    raise typer.Exit(local_models.list_models(over(context, {"data_dir": data_dir}), os.environ, cwd=Path.cwd()))


@app.command("remove")
def remove_model(
    context: typer.Context, name: Annotated[str, typer.Argument(help="Which one.")], data_dir: DataDir = None
) -> None:
    """Delete a fetched model from this machine."""
    from anycowork.commands import local_models

    flags = over(context, {"data_dir": data_dir})
    raise typer.Exit(local_models.remove(flags, os.environ, cwd=Path.cwd(), name=name))
