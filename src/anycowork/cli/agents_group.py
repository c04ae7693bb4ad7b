"""`anycowork agents`"""

import typer

from anycowork.cli.options import DataDir, Json, invoked

AGENTS_HELP = """Say which agents jobs can use: their role and their model.

Agents are set up in config.toml under [agents.NAME]; planner and worker are always there.
"""


def list_agents(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    from anycowork.cli.jobs import ask_server

    raise typer.Exit(ask_server(invoked(context, data_dir=data_dir), "GET", "/agents", as_json=as_json))
