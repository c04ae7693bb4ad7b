"""`anycowork schedules …`: lists, adds, runs and removes the schedules of a running server."""

from collections.abc import Iterable, Iterator
from typing import Annotated
from urllib.parse import quote

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import AsJson, DataDir, Invocation, MaxCost, Role, Workspace, invoked
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import stdout
from anycowork.client.http import ServerClient
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, json_objects
from anycowork.domain.times import local_time

SCHEDULES_HELP = """List schedules, add one, run it now, enable, disable or remove it.

A schedule starts a workflow or a job template at its times, while a server runs (`anycowork serve`). What was missed is made
up for as its rule says.

Examples:

\b
    anycowork schedules list
    anycowork schedules add "Morning report" --cron "0 9 * * MON-FRI" --time-zone Europe/Berlin --workflow explain_code path=src
    anycowork schedules add Review --at 2026-12-24T09:00 --template review-and-fix path=src --max-cost 1
    anycowork schedules run SCHEDULE
    anycowork schedules disable SCHEDULE
    anycowork schedules remove SCHEDULE
"""

app = CommandGroup(
    help=SCHEDULES_HELP, short_help="Start workflows and templates at their times.", no_args_is_help=True
)
ScheduleId = Annotated[str, typer.Argument(help="The schedule's id.", metavar="SCHEDULE")]


def text_option(flag: str, help_text: str, metavar: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(flag, help=help_text, metavar=metavar)
    return option


WorkflowOption = Annotated[str | None, text_option("--workflow", "The workflow that is run.", "NAME")]
TemplateOption = Annotated[str | None, text_option("--template", "The job template whose plan waits for you.", "NAME")]
ChatOption = Annotated[str | None, text_option("--chat", "The chat that its runs go into.", "CHAT")]
TokensOption = Annotated[int | None, typer.Option("--tokens", min=1, help="What one run may use.", metavar="N")]
SecondsOption = Annotated[
    float | None, typer.Option("--seconds", min=1, help="How long one run may work.", metavar="N")
]


@app.command("list", help="List the schedules and their newest start.")
def list_schedules(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.get("/schedules")
        print_answer(answer, schedule_lines(answer), as_json=as_json)

    raise run_with_server("schedules list", invoked(context, data_dir=data_dir), work)


@app.command("show", help="Show one schedule and its newest starts.")
def show_schedule(
    context: typer.Context, schedule: ScheduleId, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.get(path_of("schedules", schedule))
        print_answer(answer, _schedule_details(answer), as_json=as_json)

    raise run_with_server("schedules show", invoked(context, data_dir=data_dir), work)


@app.command("add", help="Add a schedule: a name, its times, and what is started.")
def add_schedule(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name.", metavar="NAME")],
    parameters: Annotated[
        list[str] | None, typer.Argument(help="What the workflow or template is given.", metavar="KEY=VALUE")
    ] = None,
    cron: Annotated[
        str | None,
        text_option("--cron", "Five fields: minute, hour, day of the month, month, day of the week.", "CRON"),
    ] = None,
    once_at: Annotated[str | None, text_option("--at", "One time, such as 2026-12-24T09:00.", "TIME")] = None,
    time_zone: Annotated[str, text_option("--time-zone", "Whose clock it is.", "ZONE")] = "UTC",
    workflow: WorkflowOption = None,
    template: TemplateOption = None,
    chat: ChatOption = None,
    workspace: Workspace = None,
    role: Role = None,
    missed: Annotated[
        str, text_option("--missed", "What is done about missed times: skip, once or all.", "RULE")
    ] = "once",
    max_cost: MaxCost = None,
    tokens: TokensOption = None,
    seconds: SecondsOption = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    limits: Json = {"cost": max_cost, "tokens": tokens, "seconds": seconds}
    body: Json = {
        "name": name,
        "cron": cron,
        "at": once_at,
        "time_zone": time_zone,
        "workflow": workflow,
        "template": template,
        "context_id": chat,
        "workspace": str(workspace) if workspace else None,
        "role": role,
        "missed": missed,
        "limits": {key: limit for key, limit in limits.items() if limit is not None},
    }

    async def work(client: ServerClient) -> None:
        request = {**body, "parameters": read_pairs(parameters or [])}
        answer = await client.post("/schedules", {key: field for key, field in request.items() if field is not None})
        print_answer(answer, [f"Added {answer['id']}; first at {_local(answer['next_at'])}."], as_json=as_json)

    raise run_with_server("schedules add", invoked(context, data_dir=data_dir), work)


@app.command("run", help="Start a schedule now, in your name.")
def run_schedule(
    context: typer.Context, schedule: ScheduleId, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.post(f"{path_of('schedules', schedule)}/run")
        [start] = json_objects([answer["start"]])
        begun = f"job {start['job_id']}" if start["job_id"] else f"run {start['run_id']}"
        print_answer(answer, [f"Started {begun} in chat {start['context_id']}."], as_json=as_json)

    raise run_with_server("schedules run", invoked(context, data_dir=data_dir), work)


@app.command("enable", help="Let a schedule start again; it is yours then.")
def enable_schedule(context: typer.Context, schedule: ScheduleId, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.patch(path_of("schedules", schedule), {"enabled": True})
        stdout().line(f"Enabled; next at {_local(answer['next_at'])}.")

    raise run_with_server("schedules enable", invoked(context, data_dir=data_dir), work)


@app.command("disable", help="Let a schedule start nothing; what runs goes on.")
def disable_schedule(context: typer.Context, schedule: ScheduleId, data_dir: DataDir = None) -> None:
    raise disable("schedules", schedule, invoked(context, data_dir=data_dir))


@app.command("remove", help="Remove a schedule; what it started stays.")
def remove_schedule(context: typer.Context, schedule: ScheduleId, data_dir: DataDir = None) -> None:
    raise remove("schedules", schedule, invoked(context, data_dir=data_dir))


def schedule_lines(answer: Json) -> Iterator[str]:
    """One row for each schedule, and one for its newest start."""
    schedules = list(json_objects(answer.get("schedules")))
    if not schedules:
        yield "No schedules yet. `anycowork schedules add --help` shows how to add one."
    for schedule in schedules:
        yield _headline(schedule)
        yield from map(start_line, json_objects(schedule.get("starts")))


def _schedule_details(schedule: Json) -> Iterator[str]:
    yield _headline(schedule)
    names = ("parameters", "context_id", "workspace", "role", "limits", "missed", "principal")
    yield from detail_lines(schedule, names)


def detail_lines(startable: Json, names: Iterable[str]) -> Iterator[str]:
    """One row for each of these fields that has a value, and one for each of the newest starts."""
    for name in names:
        if field := startable.get(name):
            pairs = ", ".join(f"{key}={part}" for key, part in field.items()) if isinstance(field, dict) else field
            yield f"  {name}: {pairs}"
    yield from map(start_line, json_objects(startable.get("starts")))


def _headline(schedule: Json) -> str:
    times = f"{schedule.get('cron') or schedule.get('at')} {schedule.get('time_zone')}"
    if schedule.get("paused"):
        state = f"paused: {schedule['paused']}"
    elif not schedule.get("enabled"):
        state = "disabled"
    else:
        state = f"next {_local(schedule.get('next_at'))}"
    return f"{schedule.get('id')}  {schedule.get('name')}  ({times})  {schedule.get('workflow') or schedule.get('template')}  {state}"


def start_line(start: Json) -> str:
    begun = f" in chat {start['context_id']}" if start.get("context_id") else ""
    reason = f": {start['error']}" if start.get("error") else ""
    return f"  {_local(start.get('due_at'))}  {start.get('outcome') or start.get('status')}{begun}{reason}"


def _local(written: object) -> str:
    return local_time(str(written)) if written else "no time"


def read_pairs(words: list[str]) -> Json:
    """Raises: Invalid."""
    pairs = [word.partition("=") for word in words]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise Invalid(f"'{name[:80]}' is no parameter. Write it as KEY=VALUE.")
    return {name: text for name, _, text in pairs}


def path_of(kind: str, startable_id: str) -> str:
    """`kind` is `schedules` or `triggers`, as in the API and on the command line."""
    return f"/{kind}/{quote(startable_id, safe='')}"


def disable(kind: str, startable_id: str, invocation: Invocation) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        await client.patch(path_of(kind, startable_id), {"enabled": False})
        stdout().line("Disabled.")

    return run_with_server(f"{kind} disable", invocation, work)


def remove(kind: str, startable_id: str, invocation: Invocation) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        await client.delete(path_of(kind, startable_id))
        stdout().line("Removed.")

    return run_with_server(f"{kind} remove", invocation, work)
