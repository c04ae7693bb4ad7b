"""`anycowork agents`"""

import os
from pathlib import Path

import typer

from anycowork.cli.options import DataDir, Json, merge_flags

AGENTS_HELP = """Say which agents jobs can use: their role and their model.

Agents are set up in config.toml under [agents.NAME]; planner and worker are always there.
"""


def list_agents(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    from anycowork.cli.jobs import ask_server

    flags = merge_flags(context, {"data_dir": data_dir})
    raise typer.Exit(ask_server(flags, os.environ, "GET", "/agents", cwd=Path.cwd(), as_json=as_json))
