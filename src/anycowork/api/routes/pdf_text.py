"""The route that reads the text of a PDF, so that it can be attached to a message."""

from base64 import b64decode
from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.chats import PdfTextResponse
from anycowork.domain.attached_files import LONGEST_NAME, MAX_PDF_BYTES
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid, TooLarge

routes = Router(tags=["messages"])


class NewPdf(Boundary):
    name: Annotated[str, Field(min_length=1, max_length=2 * LONGEST_NAME, examples=["report.pdf"])]
    data: Annotated[str, Field(min_length=1, description="Base64, at most 7 MB of file.")]


@routes.post("/attachments/pdf", response_model=PdfTextResponse, responses=error_responses(413, body=True))
async def read_pdf(body: NewPdf, principal: Sender, services: ServicesDep) -> Response:
    """The text of a PDF, read on this machine; send it as an attachment of a message. A PDF without text, locked or too large: 422."""
    try:
        data = b64decode(body.data, validate=True)
    except ValueError:
        raise Invalid("The data of a PDF must be base64.", param="data") from None
    if len(data) > MAX_PDF_BYTES:
        raise TooLarge(f"A PDF may have at most {MAX_PDF_BYTES >> 20} MB; this one has {len(data) / (1 << 20):.1f}.")
    name = "".join(sign for sign in body.name if sign.isprintable())[:LONGEST_NAME] or "The file"
    text = await services.pdf_texts.read(name, data)
    return json_response(200, {"name": name, "content": text.content, "pages": text.pages})
