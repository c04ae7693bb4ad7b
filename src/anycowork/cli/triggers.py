"""`anycowork triggers …`: lists, adds and removes the triggers of a server, and renews their secrets."""

from collections.abc import Iterator
from typing import Annotated

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import AsJson, DataDir, MaxCost, Role, Workspace, invoked
from anycowork.cli.schedules import (
    ChatOption,
    SecondsOption,
    TemplateOption,
    TokensOption,
    WorkflowOption,
    detail_lines,
    disable,
    path_of,
    read_pairs,
    remove,
    start_line,
)
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import stdout
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json, json_objects

TRIGGERS_HELP = """List triggers, add one, renew its secret, enable, disable or remove it.

A trigger starts a workflow or a job template when another system sends a request that is signed with its secret.

Examples:

\b
    anycowork triggers list
    anycowork triggers add "Build failed" --workflow fix_failing_test "command=make test" --payload hint=/build/failed_test
    anycowork triggers secret TRIGGER
    anycowork triggers disable TRIGGER
    anycowork triggers remove TRIGGER
"""

app = CommandGroup(
    help=TRIGGERS_HELP, short_help="Start workflows and templates on signed requests.", no_args_is_help=True
)
TriggerId = Annotated[str, typer.Argument(help="The trigger's id.", metavar="TRIGGER")]


@app.command("list", help="List the triggers and their newest start.")
def list_triggers(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.get("/triggers")
        print_answer(answer, _trigger_lines(answer), as_json=as_json)

    raise run_with_server("triggers list", invoked(context, data_dir=data_dir), work)


@app.command("show", help="Show one trigger and its newest starts.")
def show_trigger(context: typer.Context, trigger: TriggerId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.get(path_of("triggers", trigger))
        print_answer(answer, _trigger_details(answer), as_json=as_json)

    raise run_with_server("triggers show", invoked(context, data_dir=data_dir), work)


@app.command("add", help="Add a trigger, and print its secret once.")
def add_trigger(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name.", metavar="NAME")],
    parameters: Annotated[
        list[str] | None, typer.Argument(help="What the workflow or template is given each time.", metavar="KEY=VALUE")
    ] = None,
    payload: Annotated[
        list[str] | None,
        typer.Option(
            "--payload",
            help="A parameter that the request brings, and the JSON Pointer to it in the body.",
            metavar="KEY=/POINTER",
        ),
    ] = None,
    workflow: WorkflowOption = None,
    template: TemplateOption = None,
    chat: ChatOption = None,
    workspace: Workspace = None,
    role: Role = None,
    max_cost: MaxCost = None,
    tokens: TokensOption = None,
    seconds: SecondsOption = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    limits: Json = {"cost": max_cost, "tokens": tokens, "seconds": seconds}
    body: Json = {
        "name": name,
        "workflow": workflow,
        "template": template,
        "context_id": chat,
        "workspace": str(workspace) if workspace else None,
        "role": role,
        "limits": {key: limit for key, limit in limits.items() if limit is not None},
    }

    async def work(client: ServerClient) -> None:
        request = {**body, "parameters": read_pairs(parameters or []), "payload": read_pairs(payload or [])}
        answer = await client.post("/triggers", {key: field for key, field in request.items() if field is not None})
        print_answer(answer, [f"Added {answer['id']}.", *_secret_lines(answer)], as_json=as_json)

    raise run_with_server("triggers add", invoked(context, data_dir=data_dir), work)


@app.command("secret", help="Replace a secret; the old one is good no more.")
def replace_secret(
    context: typer.Context, trigger: TriggerId, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.post(f"{path_of('triggers', trigger)}/secret")
        print_answer(answer, _secret_lines({**answer, "id": trigger}), as_json=as_json)

    raise run_with_server("triggers secret", invoked(context, data_dir=data_dir), work)


@app.command("enable", help="Let a trigger start again; it is yours then.")
def enable_trigger(context: typer.Context, trigger: TriggerId, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        await client.patch(path_of("triggers", trigger), {"enabled": True})
        stdout().line("Enabled.")

    raise run_with_server("triggers enable", invoked(context, data_dir=data_dir), work)


@app.command("disable", help="Refuse a trigger's requests; what runs goes on.")
def disable_trigger(context: typer.Context, trigger: TriggerId, data_dir: DataDir = None) -> None:
    raise disable("triggers", trigger, invoked(context, data_dir=data_dir))


@app.command("remove", help="Remove a trigger; what it started stays.")
def remove_trigger(context: typer.Context, trigger: TriggerId, data_dir: DataDir = None) -> None:
    raise remove("triggers", trigger, invoked(context, data_dir=data_dir))


def _trigger_lines(answer: Json) -> Iterator[str]:
    """One row for each trigger, and one for its newest start."""
    triggers = list(json_objects(answer.get("triggers")))
    if not triggers:
        yield "No triggers yet. `anycowork triggers add --help` shows how to add one."
    for trigger in triggers:
        yield _headline(trigger)
        yield from map(start_line, json_objects(trigger.get("starts")))


def _trigger_details(trigger: Json) -> Iterator[str]:
    yield _headline(trigger)
    names = ("parameters", "payload", "context_id", "workspace", "role", "limits", "principal")
    yield from detail_lines(trigger, names)


def _headline(trigger: Json) -> str:
    state = "enabled" if trigger.get("enabled") else "disabled"
    if trigger.get("paused"):
        state = f"paused: {trigger['paused']}"
    return f"{trigger.get('id')}  {trigger.get('name')}  {trigger.get('workflow') or trigger.get('template')}  {state}"


def _secret_lines(answer: Json) -> list[str]:
    return [
        f"Its requests go to POST /triggers/{answer['id']} of this server, signed with this secret, which is not shown again:",
        str(answer["secret"]),
    ]
