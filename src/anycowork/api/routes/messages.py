"""Routes for messages: send them, and read them in pages whose stored bytes are returned unchanged."""

from base64 import b64decode
from typing import Annotated, Literal

import msgspec
from fastapi import Path, Query, Response
from pydantic import Field, field_validator, model_validator

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.routes.workflows import unfitting
from anycowork.api.schemas.chats import MessageList, SentResponse
from anycowork.chats.chat_service import SentMessage
from anycowork.domain.attached_files import LONGEST_NAME, MAX_FILES, AttachedFile
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid, NotFound
from anycowork.domain.evidence import MOST_STATED, ExpectationKind, StatedExpectation
from anycowork.domain.images import MAX_IMAGES, MEDIA_TYPES, GivenImage, images_of
from anycowork.domain.message_queue import QueuedMessage
from anycowork.domain.ports import MessagePage
from anycowork.domain.workflow_errors import UnfittingParameters
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
    """`when` says what happens while the agent works: `idle` queues the message, `now` gives it to the running turn between two steps."""

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
    try:
        images = [image.given() for image in new_message.images]
        files = [file.given() for file in new_message.attachments]
        expect = [expectation.given() for expectation in new_message.expect]
        if new_message.when is None or images or files or expect or not new_message.keep_plan:
            sent: SentMessage | QueuedMessage = await services.chats.send(
                principal, chat_id, new_message.content, images, files, expect=expect, keep_plan=new_message.keep_plan
            )
        else:
            sent = await services.queue.add(principal, chat_id, new_message.content, steer=new_message.when == "now")
    except UnfittingParameters as fault:
        return unfitting(fault)
    if isinstance(sent, QueuedMessage):
        turn = await services.store.current_turn(chat_id) if sent.steer else None
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
    page = await services.store.messages_page(chat_id, after=after, before=before, limit=limit)
    return Response(_spliced(page), media_type="application/json")


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
    message = await services.store.message(chat_id, message_id)
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
