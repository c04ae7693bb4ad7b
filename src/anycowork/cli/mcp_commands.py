"""`anycowork mcp …`"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import DataDir, Model, Workspace, invoked

ADD_HELP = """Add an MCP server: a program with its arguments, or the address of a remote one. It is tested at once.

Its tools ask before each call until you decide otherwise. A program runs in the sandbox: without network, unless you name hosts.
It only reads the workspace: with `--workspace-access layer` it changes files, each call like a command that is checked and can be
undone. It forgets what it wrote elsewhere: with `--data-folder` its home folder, /home/sandbox, is kept.
A server whose test fails stays added: `anycowork mcp test NAME` tries again, `anycowork mcp remove NAME` removes it.

Exit codes: 0 added and ready, 1 not added, or added and not ready, 2 usage.

Examples:

\b
    anycowork mcp add git uvx mcp-server-git
    anycowork mcp add time --read-only get_current_time -- /opt/venv/bin/mcp-server-time --local-timezone UTC
    anycowork mcp add docs --url https://example.org/mcp
    anycowork mcp add files --workspace-access layer -- npx -y @modelcontextprotocol/server-filesystem
    anycowork mcp add notes --data-folder --env MEMORY_FILE_PATH -- mcp-server-memory
    anycowork mcp add issues --env TOKEN --network api.example.org -- /opt/issues/server
"""

IMPORT_HELP = """Add the MCP servers that a file of an editor, another agent or a project names.

It shows every program and address, and adds them once you agree. Later changes of the file change nothing: import it again.

Examples:

\b
    anycowork mcp import .mcp.json
    anycowork mcp import --from cursor
    anycowork mcp import .vscode/mcp.json --env GITHUB_TOKEN
"""

SERVE_HELP = """Use the tools of MCP servers, or be one.

Without a command, an MCP host speaks with AnyCowork on stdin and stdout: it starts chats, workflows and jobs, and reads them. It cannot
approve, answer or switch roles: people do that in AnyCowork.

Examples:

\b
    anycowork mcp                      for hosts that start it
    anycowork mcp --http 8485          for hosts that speak HTTP
    anycowork mcp add git uvx mcp-server-git
"""

app = CommandGroup(help=SERVE_HELP, invoke_without_command=True)
Many = list[str] | None
ServerName = Annotated[str, typer.Argument(help="Its name.", metavar="NAME")]


@app.callback()
def serve(
    context: typer.Context,
    http: Annotated[
        int | None, typer.Option("--http", help="Serve HTTP on this port of 127.0.0.1.", metavar="PORT")
    ] = None,
    workspace: Workspace = None,
    model: Model = None,
    data_dir: DataDir = None,
) -> None:
    flags, environ, cwd = invoked(context, workspace=workspace, model=model, data_dir=data_dir)
    if context.invoked_subcommand is not None:
        context.obj = flags
        return
    if http is None and sys.stdin.isatty():  # nobody speaks JSON by hand
        typer.echo(context.get_help())
        raise typer.Exit(2)
    from anycowork.mcp_server.command import serve_host

    raise typer.Exit(serve_host(flags, environ, cwd=cwd, http_port=http))


@app.command("add", help=ADD_HELP, short_help="Add an MCP server: a program, or an address.")
def add_server(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call it; its tools are NAME__TOOL.", metavar="NAME")],
    command: Annotated[
        Many, typer.Argument(help="The program and its arguments.", show_default=False, metavar="COMMAND")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="The address of a remote server.", metavar="URL")] = None,
    transport: Annotated[
        str | None, typer.Option("--transport", help="How to reach it: stdio, sse or http.", metavar="KIND")
    ] = None,
    env: Annotated[
        Many, typer.Option("--env", help="A variable that it gets, taken from yours; may be repeated.", metavar="NAME")
    ] = None,
    read_only: Annotated[
        Many, typer.Option("--read-only", help="A tool that you vouch for; may be repeated.", metavar="TOOL")
    ] = None,
    allowed: Annotated[
        Many, typer.Option("--allow", help="Offer only this tool; may be repeated.", metavar="TOOL")
    ] = None,
    denied: Annotated[
        Many, typer.Option("--deny", help="Never offer this tool; may be repeated.", metavar="TOOL")
    ] = None,
    network: Annotated[
        Many, typer.Option("--network", help="A host that it may reach; may be repeated.", metavar="HOST")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that a call may take.", metavar="S")] = 60.0,
    data_folder: Annotated[
        bool, typer.Option("--data-folder", help="Give it a home folder of its own that is kept.")
    ] = False,
    workspace_access: Annotated[
        str | None,
        typer.Option(
            "--workspace-access",
            help="What it sees of a call's workspace: none, read, or layer (it may change files).",
            metavar="ACCESS",
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli import mcp_servers
    from anycowork.domain.messages import Json  # loads pydantic, which `--help` does without

    command_words = command or []
    config: Json = {
        "name": name,
        "command": command_words[0] if command_words else None,
        "args": [*command_words[1:]],
        "url": url,
        "transport": transport,
        "read_only": [*(read_only or [])],
        "allowed": None if allowed is None else [*allowed],
        "denied": [*(denied or [])],
        "network": [*(network or [])],
        "timeout": timeout,
        "data_folder": data_folder or None,
        "workspace_access": workspace_access,
    }
    raise mcp_servers.add(invoked(context, data_dir=data_dir), config=config, env=env or [])


@app.command("edit", short_help="Change an MCP server, and test it.")
def edit_server(
    context: typer.Context,
    name: ServerName,
    network: Annotated[
        Many, typer.Option("--network", help="A further host that it may reach; may be repeated.", metavar="HOST")
    ] = None,
    env: Annotated[
        Many, typer.Option("--env", help="A variable that it gets, taken from yours; may be repeated.", metavar="NAME")
    ] = None,
    read_only: Annotated[
        Many, typer.Option("--read-only", help="The tools that you vouch for; may be repeated.", metavar="TOOL")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds that a call may take.", metavar="S")
    ] = None,
    data_folder: Annotated[
        bool | None,
        typer.Option("--data-folder/--no-data-folder", help="Whether its home folder is kept.", show_default=False),
    ] = None,
    workspace_access: Annotated[
        str | None,
        typer.Option(
            "--workspace-access",
            help="What it sees of the workspace: none, read, or layer (it may change files).",
            metavar="ACCESS",
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Change what an MCP server may reach, see and keep, and test it. What you do not name stays."""
    from anycowork.cli import mcp_servers
    from anycowork.domain.messages import Json  # loads pydantic, which `--help` does without

    changes: Json = {
        "read_only": None if read_only is None else [*read_only],
        "timeout": timeout,
        "data_folder": data_folder,
        "workspace_access": workspace_access,
    }
    invocation = invoked(context, data_dir=data_dir)
    raise mcp_servers.edit(invocation, name=name, changes=changes, hosts=network or [], env=env or [])


@app.command("import", help=IMPORT_HELP, short_help="Add the MCP servers that a file of an editor or project names.")
def import_servers(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="The file, such as .mcp.json.", show_default=False, metavar="FILE")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="The program whose file to read.", metavar="NAME")
    ] = None,
    env: Annotated[
        Many, typer.Option("--env", help="Fill in this variable of yours; may be repeated.", metavar="NAME")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="You have read the file, and want all of it.")] = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli import mcp_servers

    invocation = invoked(context, data_dir=data_dir)
    raise mcp_servers.import_servers(invocation, file=file, source=source, env=env or [], agreed=yes)


@app.command("list", short_help="List the MCP servers and their tools.")
def list_servers(context: typer.Context, data_dir: DataDir = None) -> None:
    """List the MCP servers with their state and their tools."""
    from anycowork.cli import mcp_servers

    raise mcp_servers.list_servers(invoked(context, data_dir=data_dir))


@app.command("test")
def test_server(context: typer.Context, name: ServerName, data_dir: DataDir = None) -> None:
    """Connect to an MCP server anew, and say how that went."""
    from anycowork.cli import mcp_servers

    raise mcp_servers.test(invoked(context, data_dir=data_dir), name=name)


@app.command("sign-in")
def sign_in_to_server(context: typer.Context, name: ServerName, data_dir: DataDir = None) -> None:
    """Log in to a remote MCP server that wants to know who you are."""
    from anycowork.cli import mcp_servers

    raise mcp_servers.sign_in(invoked(context, data_dir=data_dir), name=name)


@app.command("remove")
def remove_server(
    context: typer.Context,
    name: ServerName,
    with_data: Annotated[
        bool | None,
        typer.Option("--delete-data/--keep-data", help="What becomes of its data folder.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Remove an MCP server, with the values that were stored for it. You are asked about its data folder."""
    from anycowork.cli import mcp_servers

    raise mcp_servers.remove(invoked(context, data_dir=data_dir), name=name, with_data=with_data)


@app.command("clean")
def clean_server(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which one; also a server that was removed.", metavar="NAME")],
    data_dir: DataDir = None,
) -> None:
    """Delete what an MCP server has kept in its data folder."""
    from anycowork.cli import mcp_servers

    raise mcp_servers.clean(invoked(context, data_dir=data_dir), name=name)
