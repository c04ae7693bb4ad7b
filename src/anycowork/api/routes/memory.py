"""Routes for what a person asks to remember: show the change of the folder's instruction file, and make it."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.files import MemoryChangeResponse, RememberedResponse
from anycowork.domain.boundary import Boundary

routes = Router(tags=["files"])

Note = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S", examples=["Run the tests with make test."])]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class NoteRequest(Boundary):
    text: Note


class RememberRequest(NoteRequest):
    """`sha256` is that of the change as it was shown; null if the file was not there."""

    sha256: Hash | None


@routes.post(
    "/context/{chat_id}/memory", response_model=MemoryChangeResponse, responses=error_responses(404, body=True)
)
async def preview_memory(chat_id: str, body: NoteRequest, principal: Decider, services: ServicesDep) -> Response:
    """Shows how the folder's AGENTS.md would change. Nothing is written."""
    change = await services.memory.preview(principal, chat_id, body.text)
    return json_response(200, change.to_json())


@routes.put("/context/{chat_id}/memory", response_model=RememberedResponse, responses=error_responses(404, body=True))
async def remember(chat_id: str, body: RememberRequest, principal: Decider, services: ServicesDep) -> Response:
    """Makes the change that was shown: the person's own edit, with a checkpoint. 409 if the file changed since."""
    return json_response(200, await services.memory.remember(principal, chat_id, body.text, expected=body.sha256))
