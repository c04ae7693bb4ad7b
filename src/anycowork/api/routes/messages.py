"""Routes for messages: send and queue them, attach a PDF, search, and read pages whose stored bytes are returned unchanged."""

from base64 import b64decode
from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query, Response
from pydantic import Field, field_validator, model_validator

from anycowork.api.middleware.auth import Decider, Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.chats import (
    ChangedQueuedResponse,
    MessageList,
    MessageResponse,
    PdfTextResponse,
    QueueResponse,
    SearchResults,
    SentResponse,
)
from anycowork.chats.chat_service import SentMessage
from anycowork.domain.attached_files import LONGEST_NAME, MAX_FILES, MAX_PDF_BYTES, AttachedFile
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid, NotFound, TooLarge
from anycowork.domain.evidence import MOST_STATED, ExpectationKind, StatedExpectation
from anycowork.domain.images import MAX_IMAGES, MEDIA_TYPES, GivenImage, images_of
from anycowork.domain.messages import QueuedMessage
from anycowork.domain.ports import MessagePage
from anycowork.domain.visibility import viewer_of
from anycowork.turns.lookup import require_chat

routes = Router(tags=["messages"])


class NewImage(Boundary):
    media_type: Annotated[Literal["image/png", "image/jpeg", "image/webp", "image/gif"], Field(examples=["image/png"])]
    data: Annotated[str, Field(min_length=1, description="Base64, at most 5 MB of image.")]
    name: Annotated[str, Field(max_length=200, description="For people, and for models that cannot see it.")] = ""

    def given(self) -> GivenImage:
        try:
            return GivenImage(b64decode(self.data, validate=True), self.media_type, self.name)
        except ValueError:
            raise Invalid("The data of an image must be base64.", param="images.data") from None


class NewAttachment(Boundary):
    """A text file: plain UTF-8 text, at most 200 KB, and at most 400 KB in one message."""

    name: Annotated[str, Field(min_length=1, max_length=2 * LONGEST_NAME, examples=["towns.csv"])]
    content: Annotated[str, Field(min_length=1, description="Its whole text. The model is shown it as a quotation.")]

    def given(self) -> AttachedFile:
        return AttachedFile(self.name, self.content)


class NewExpectation(Boundary):
    """What the turn is to do, checked by the server at its end. A check that a person who may approve states is run without asking."""

    kind: Annotated[
        Literal["output", "protected", "check", "no_change", "read"],
        Field(description="What is expected of the subject."),
    ]
    subject: Annotated[
        str,
        Field(max_length=1000, description="A path, a pattern for `protected`, or a command.", examples=["report.md"]),
    ] = ""

    @model_validator(mode="after")
    def _require_subject(self) -> "NewExpectation":
        if self.kind != "no_change" and not self.subject.strip():
            raise ValueError(f"name the subject of '{self.kind}': a path, or for 'check' a command")
        return self

    def given(self) -> StatedExpectation:
        return StatedExpectation(ExpectationKind(self.kind), self.subject.strip() or "the workspace")


class NewMessage(Boundary):
    """`when` says what happens while the agent works: `idle` queues the message, `now` gives it to the running turn between two steps.
    A message `/name …` is queued either way: a workflow or a skill needs a turn of its own."""

    content: Annotated[str, Field(min_length=1, examples=["What is in this folder?"])]
    images: list[NewImage] = Field(
        default_factory=list,
        max_length=MAX_IMAGES,
        description="Shown to models that can see; others are told of them.",
    )
    attachments: list[NewAttachment] = Field(
        default_factory=list,
        max_length=MAX_FILES,
        description="Text files that the model is shown after the message, as quotations. Stored in the message's payload.",
    )
    expect: list[NewExpectation] = Field(
        default_factory=list, max_length=MOST_STATED, description="What the server checks at the end of the turn."
    )
    keep_plan: bool = Field(
        True,
        description="An approved plan that stopped before it was finished goes on with this message; false drops it.",
    )
    when: Literal["idle", "now"] | None = Field(None, description="Without it a chat that is not idle answers 409.")

    @field_validator("content")
    @classmethod
    def _require_text(cls, content: str) -> str:
        if not content.strip():
            raise ValueError("must not be empty")
        return content


@routes.post(
    "/context/{chat_id}/messages",
    status_code=202,
    response_model=SentResponse,
    responses=error_responses(404, 413, 502, body=True),
)
async def send_message(chat_id: str, new_message: NewMessage, principal: Sender, services: ServicesDep) -> Response:
    """Starts a turn. The answer arrives as events and messages. `/name key=value` runs a workflow; `//` at the start stands for one slash."""
    images = [image.given() for image in new_message.images]
    files = [file.given() for file in new_message.attachments]
    expect = [expectation.given() for expectation in new_message.expect]
    if new_message.when is None or images or files or expect or not new_message.keep_plan:
        sent: SentMessage | QueuedMessage = await services.chats.send(
            principal, chat_id, new_message.content, images, files, expect=expect, keep_plan=new_message.keep_plan
        )
    else:
        sent = await services.queue.add(principal, chat_id, new_message.content, steer=new_message.when == "now")
    if isinstance(sent, QueuedMessage):
        turn = await services.store.turns.current(chat_id) if sent.steer else None
        body = {"message_id": sent.id, "turn_id": turn.id} if turn else {"queued_id": sent.id}
        return json_response(202, body)
    run = {"run_id": sent.run_id} if sent.run_id else {}
    return json_response(202, {"message_id": sent.message_id, "turn_id": sent.turn_id, **run})


@routes.get("/context/{chat_id}/messages", response_model=MessageList, responses=error_responses(404, 422))
async def list_messages(
    chat_id: str,
    principal: Reader,
    services: ServicesDep,
    after: Annotated[str | None, Query(max_length=64)] = None,
    before: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """Ascending; without a cursor the newest. `after` and `before` leave out what they name."""
    await require_chat(services.store, chat_id)
    page = await services.store.messages.page(chat_id, after=after, before=before, limit=limit)
    return Response(_spliced(page), media_type="application/json")


class RevealRequest(Boundary):
    number: Annotated[int, Field(ge=1, description="Which hidden value of the message, counted from 1.")]


@routes.post(
    "/context/{chat_id}/messages/{message_id}/reveal",
    status_code=201,
    response_model=MessageResponse,
    responses=error_responses(404, 409, body=True),
)
async def reveal_value(
    chat_id: str, message_id: str, reveal: RevealRequest, principal: Decider, services: ServicesDep
) -> Response:
    """Shows the agent one value that is hidden from models because it looks like a secret, in a note that names who did."""
    note = await services.decisions.reveal(principal, chat_id, message_id, reveal.number)
    return json_response(201, note.to_json())


@routes.get(
    "/context/{chat_id}/messages/{message_id}/images/{number}",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in MEDIA_TYPES}}, **error_responses(404, 422)},
)
async def show_image(
    chat_id: str,
    message_id: str,
    number: Annotated[int, Path(ge=0, lt=MAX_IMAGES)],
    principal: Reader,
    services: ServicesDep,
) -> Response:
    """An image that came with this message, counted from 0."""
    message = await services.store.messages.find(chat_id, message_id)
    images = images_of(message) if message else ()
    data = await services.image_bytes.get(images[number].sha256) if number < len(images) else None
    if data is None:
        raise NotFound("image", str(number))
    return Response(data, media_type=images[number].media_type, headers=_INERT)


# Whatever the bytes hold, a browser that opens them by themselves runs nothing of it; what they are never changes.
_INERT = {
    "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "content-disposition": "inline",
    "cache-control": "private, max-age=31536000, immutable",
}


def _spliced(page: MessagePage) -> bytes:
    tail = msgspec.json.encode({"last_seq": page.last_seq, "next": page.next})
    return b'{"messages":[' + b",".join(page.bodies) + b"]," + tail[1:]


_QUERY = 'All words must occur; "words in quotes" must follow each other; the last word may be unfinished.'


@routes.get("/search", response_model=SearchResults, responses=error_responses(422))
async def search_messages(
    principal: Reader,
    services: ServicesDep,
    q: Annotated[str, Query(max_length=500, description=_QUERY)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: Annotated[str | None, Query(max_length=64, description="The `next` of the page before.")] = None,
) -> Response:
    """Searches what people and agents wrote in all chats, newest first. Calls and the output of tools are not searched."""
    matches, following = await services.store.messages.search(
        q, limit=limit, before=before, viewer=viewer_of(principal)
    )
    return json_response(200, {"results": [result.to_json() for result in matches], "next": following})


class ChangeQueuedRequest(Boundary):
    """`when: now` gives it to the running turn between two steps; an idle chat sends it at once."""

    content: Annotated[str, Field(min_length=1)] | None = None
    when: Literal["now"] | None = None


@routes.get("/context/{chat_id}/queue", response_model=QueueResponse, responses=error_responses(404, 422))
async def list_queue(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    """In the order in which they are sent."""
    return json_response(200, {"queue": [queued.to_json() for queued in await services.queue.waiting(chat_id)]})


@routes.patch(
    "/context/{chat_id}/queue/{queued_id}",
    response_model=ChangedQueuedResponse,
    responses=error_responses(404, 409, body=True),
)
async def change_queued(
    chat_id: str, queued_id: str, body: ChangeQueuedRequest, principal: Sender, services: ServicesDep
) -> Response:
    changed = await services.queue.change(principal, chat_id, queued_id, content=body.content, now=body.when == "now")
    if isinstance(changed, QueuedMessage):
        return json_response(200, {"queued": changed.to_json()})
    run = {"run_id": changed.run_id} if changed.run_id else {}
    return json_response(200, {"queued": None, "message_id": changed.message_id, "turn_id": changed.turn_id, **run})


@routes.delete(
    "/context/{chat_id}/queue/{queued_id}",
    status_code=204,
    response_class=Response,
    responses=error_responses(404, 422, 507),
)
async def remove_queued(chat_id: str, queued_id: str, principal: Sender, services: ServicesDep) -> Response:
    """A message that was sent already is not found."""
    await services.queue.remove(principal, chat_id, queued_id)
    return Response(status_code=204)


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
