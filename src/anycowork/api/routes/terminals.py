"""Routes for the terminals that a person opens for themselves. Only an admin may. Their output comes as a stream (`api/terminal_stream.py`);
they are closed as a person's command is stopped."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Manager
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.chats import StartedCommandResponse, StoppedCommandResponse
from anycowork.domain.boundary import Boundary
from anycowork.tools.person_terminal import TerminalSize

routes = Router(tags=["person commands"])


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
async def open_terminal(chat_id: str, body: TerminalSizeRequest, principal: Manager, services: ServicesDep) -> Response:
    """Opens a shell in the chat's workspace, with the rights of the server's user. The chat records it once, when it ends."""
    size = TerminalSize(body.rows, body.columns)
    return json_response(201, {"id": await services.terminals.open(principal, chat_id, size)})


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
