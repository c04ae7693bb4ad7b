"""How screens show the calls of one tool, which they know by a call. No address lists tools."""

from fastapi import Response

from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.chats import ToolDisplayResponse
from anycowork.domain.tools import ToolDisplay

routes = Router(tags=["calls"])


@routes.get("/calls/{name}/display", response_model=ToolDisplayResponse, responses=error_responses(422))
async def call_display(name: str, principal: Reader, services: ServicesDep) -> Response:
    """A tool that is not there (any more) is shown like any other: kind `other`."""
    tool = services.toolbox.find(name)
    display = tool.spec.display if tool else ToolDisplay()
    return json_response(
        200,
        {
            "kind": display.kind.value,
            "subject": list(display.subject),
            "target": list(display.target),
            "example": display.example,
        },
    )
