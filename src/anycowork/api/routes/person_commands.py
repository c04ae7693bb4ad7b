"""Routes for the commands that a person runs for themselves. Only an admin may: no editor, no MCP host, no client key, no model."""

from functools import partial
from typing import Annotated

from fastapi import Request, Response
from pydantic import AfterValidator, Field

from anycowork.api.middleware.auth import Manager, session_in
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.chats import PersonCommandsResponse, StartedCommandResponse, StoppedCommandResponse
from anycowork.chats.files.person_command_service import AccessEnd
from anycowork.domain.boundary import Boundary
from anycowork.server.services import Services
from anycowork.tools.person_terminal import TerminalSize

routes = Router(tags=["person commands"])


def _without_nul(command: str) -> str:
    if "\0" in command or not command.strip():
        raise ValueError("a command has at least one visible character and no NUL")
    return command


class PersonCommandRequest(Boundary):
    command: Annotated[str, Field(min_length=1, max_length=20_000), AfterValidator(_without_nul)]


@routes.get(
    "/context/{chat_id}/person-commands", response_model=PersonCommandsResponse, responses=error_responses(404, 422)
)
async def show_person_commands(chat_id: str, principal: Manager, services: ServicesDep) -> Response:
    """Whether the person may run commands here, and the ones that run now. Ended ones are messages of the chat."""
    offer = await services.person_commands.offer(principal, chat_id)
    return json_response(200, {"reason": offer.reason, "running": offer.running})


@routes.post(
    "/context/{chat_id}/person-commands",
    status_code=202,
    response_model=StartedCommandResponse,
    responses=error_responses(404, body=True),
)
async def run_person_command(
    chat_id: str, body: PersonCommandRequest, principal: Manager, request: Request, services: ServicesDep
) -> Response:
    """Runs a command with bash in the chat's workspace, with the rights of the server's user. The chat records it as the person's own. It
    ends with the browser's session that started it."""
    session_end = _session_end(request, services)
    started = await services.person_commands.start(principal, chat_id, body.command, session_end=session_end)
    return json_response(202, {"id": started})


def _session_end(request: Request, services: Services) -> AccessEnd | None:
    """Returns what waits for the end of the browser's session that the request came with; None with a token."""
    session = session_in(request.scope)
    return None if session is None else partial(services.access.sessions.ended, session.node)


@routes.post(
    "/context/{chat_id}/person-commands/{command_id}/stop",
    response_model=StoppedCommandResponse,
    responses=error_responses(404, 409, 422),
)
async def stop_person_command(chat_id: str, command_id: str, principal: Manager, services: ServicesDep) -> Response:
    """Stops the command with everything that it started. What it changed stays, and can be undone."""
    await services.person_commands.stop(principal, chat_id, command_id)
    return json_response(200, {"id": command_id})


class TerminalSizeRequest(Boundary):
    rows: Annotated[int, Field(ge=1, le=1000)]
    columns: Annotated[int, Field(ge=1, le=1000)]


class TerminalInputRequest(Boundary):
    """What was typed, as a terminal sends it: control characters and escape sequences too."""

    text: Annotated[str, Field(min_length=1, max_length=65_536)]


@routes.post(
    "/context/{chat_id}/terminals",
    status_code=201,
    response_model=StartedCommandResponse,
    responses=error_responses(404, body=True),
)
async def open_terminal(
    chat_id: str, body: TerminalSizeRequest, principal: Manager, request: Request, services: ServicesDep
) -> Response:
    """Opens a shell in the chat's workspace, with the rights of the server's user. The chat records it once, when it ends. It ends with
    the browser's session that opened it."""
    size, session_end = TerminalSize(body.rows, body.columns), _session_end(request, services)
    return json_response(201, {"id": await services.terminals.open(principal, chat_id, size, session_end=session_end)})


@routes.post(
    "/context/{chat_id}/terminals/{terminal_id}/input",
    response_model=StoppedCommandResponse,
    responses=error_responses(404, body=True),
)
async def type_in_terminal(
    chat_id: str, terminal_id: str, body: TerminalInputRequest, principal: Manager, services: ServicesDep
) -> Response:
    """Passes on what the person typed."""
    services.terminals.find(principal, chat_id, terminal_id).write(body.text.encode("utf-8", "replace"))
    return json_response(200, {"id": terminal_id})


@routes.put(
    "/context/{chat_id}/terminals/{terminal_id}/size",
    response_model=StoppedCommandResponse,
    responses=error_responses(404, body=True),
)
async def resize_terminal(
    chat_id: str, terminal_id: str, body: TerminalSizeRequest, principal: Manager, services: ServicesDep
) -> Response:
    """Tells the programs how large the screen is now."""
    services.terminals.find(principal, chat_id, terminal_id).resize(TerminalSize(body.rows, body.columns))
    return json_response(200, {"id": terminal_id})
