"""The route for the export of a chat."""

from typing import Annotated

from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses
from anycowork.api.router import Router
from anycowork.chats.export.chat_export import ExportFormat

routes = Router(tags=["chats"])

_FORMAT = "`json` can be imported again; `html` is one page that needs nothing else."
_KINDS = ("text/markdown", "application/json", "text/html")


@routes.get(
    "/context/{chat_id}/export",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in _KINDS}}, **error_responses(404, 422)},
)
async def export_chat(
    chat_id: str,
    principal: Reader,
    services: ServicesDep,
    export_format: Annotated[ExportFormat, Query(alias="format", description=_FORMAT)] = ExportFormat.MARKDOWN,
) -> Response:
    """The whole chat as a file: messages, approved plans against what was done, diffs, and the end of the audit chain.

    It is sent while it is read. If that fails half-way, the connection is closed before the body has ended.
    """
    file = await services.export.export(principal, chat_id, export_format)
    headers = {"content-disposition": f'attachment; filename="{file.name}"', **_INERT}
    return StreamingResponse(file.content, media_type=file.media_type, headers=headers)


# Whatever the chat holds, a browser that shows the file runs nothing of it.
_INERT = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"}
