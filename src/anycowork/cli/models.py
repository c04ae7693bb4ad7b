"""`anycowork model …`: connects model servers, and downloads models for this machine."""

from pathlib import Path
from typing import Annotated

import typer

from anycowork.cli import connected_models, local_models
from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import DataDir, invoked

PULL_HELP = """Download a model that runs on this machine, about 1 GB; verified by its hash, and resumable.

It tries the publisher's file first, then a mirror. With --file, your own GGUF file is copied and called NAME.

Examples:

\b
    anycowork model pull
    anycowork model pull qwen2.5-coder-0.5b
    anycowork model pull my-model --file ~/Downloads/my-model.gguf
"""

CONNECT_HELP = """Connect a model server by its name or address. You are asked for its key, which is stored for you only.

It makes one real request. If that fails, it says why and stores nothing.

Known names: openai, anthropic, gemini, openrouter, mistral, groq, deepseek, xai, ollama, lmstudio, llamacpp, vllm.

Examples:

\b
    anycowork model connect openai
    anycowork model connect http://127.0.0.1:8000/v1 --name office
    anycowork model connect openrouter --key-stdin < key.txt
"""

app = CommandGroup(help="Connect models, or download one for this machine.", no_args_is_help=True)


@app.command("connect", help=CONNECT_HELP, short_help="Connect a model server, with its key.")
def connect_model(
    context: typer.Context,
    server: Annotated[
        str | None, typer.Argument(help="A known name, or an address. [you are asked]", metavar="SERVER")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Its name here.", metavar="NAME")] = None,
    models: Annotated[
        list[str] | None, typer.Option("--models", help="A model to use; may be repeated.", metavar="MODEL")
    ] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
    data_dir: DataDir = None,
) -> None:
    invocation = invoked(context, data_dir=data_dir)
    raise connected_models.connect(invocation, server=server, name=name, models=models or [], key_from_stdin=key_stdin)


@app.command("test")
def test_model(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which connected server.", metavar="NAME")],
    data_dir: DataDir = None,
) -> None:
    """Test a connected model server with a short request."""
    raise connected_models.test(invoked(context, data_dir=data_dir), name=name)


@app.command("pull", help=PULL_HELP, short_help="Download a model that runs on this machine, about 1 GB.")
def pull_model(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Which model; `model list` shows them.", show_default=False, metavar="NAME")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Your own GGUF file instead.", metavar="PATH")] = None,
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(local_models.pull(invoked(context, data_dir=data_dir), name=name, file=file))


@app.command("list")
def list_models(context: typer.Context, data_dir: DataDir = None) -> None:
    """List the models, what they need, and which are installed."""
    raise typer.Exit(local_models.list_models(invoked(context, data_dir=data_dir)))


@app.command("remove", short_help="Remove a connected model server, or a downloaded model.")
def remove_model(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name.", metavar="NAME")],
    data_dir: DataDir = None,
) -> None:
    """Remove a connected model server with its key, or a downloaded model from this machine."""
    invocation = invoked(context, data_dir=data_dir)
    if connected_models.is_connected(invocation, name=name):
        raise connected_models.remove(invocation, name=name)
    raise typer.Exit(local_models.remove(invocation, name=name))
