"""Triggers: templates and workflows that an outside system starts by a signed request, each as an ordinary job or run in an ordinary chat."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import Field

from anycowork.api.asgi import header
from anycowork.api.middleware.auth import AFTER_WRONG_SIGNATURE, Decider, Reader
from anycowork.api.middleware.body import body_of
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.schedules import StartableChanges, StartableRequest, all_shown, changes_in, shown
from anycowork.api.schemas.schedules import (
    AcceptedDeliveryResponse,
    CreatedTriggerResponse,
    TriggerList,
    TriggerResponse,
    TriggerSecretResponse,
)
from anycowork.domain.triggers import Delivery, NotSigned
from anycowork.domain.values import replace

routes = Router(tags=["triggers"])

Pointer = Annotated[str, Field(min_length=1, max_length=400)]
Payload = Annotated[
    dict[Annotated[str, Field(max_length=80)], Pointer],
    Field(
        max_length=20,
        description="The parameters that the body brings, each with a JSON Pointer to its value. Nothing else of the body is used.",
        examples=[{"branch": "/ref"}],
    ),
]


class NewTrigger(StartableRequest):
    payload: Payload = Field(default_factory=dict)


class TriggerChanges(StartableChanges):
    payload: Payload | None = None


@routes.get("/triggers", response_model=TriggerList, responses=error_responses())
async def list_triggers(principal: Reader, services: ServicesDep) -> Response:
    """Oldest first, each with its newest start."""
    return json_response(200, {"triggers": await all_shown(services, principal, triggers=True)})


@routes.get("/triggers/{trigger_id}", response_model=TriggerResponse, responses=error_responses(404, 422))
async def show_trigger(trigger_id: str, principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, await shown(services, principal, trigger_id, trigger=True))


@routes.post("/triggers", status_code=201, response_model=CreatedTriggerResponse, responses=error_responses(body=True))
async def create_trigger(body: NewTrigger, principal: Decider, services: ServicesDep) -> Response:
    """Its runs are of who creates or changes it, with the access that they have then. Its secret is shown this once."""
    draft = replace(body.draft(), is_trigger=True, payload=body.payload)
    trigger, secret = await services.triggers.create(principal, draft)
    return json_response(201, {**trigger.to_json(), "starts": [], "secret": secret})


@routes.patch("/triggers/{trigger_id}", response_model=TriggerResponse, responses=error_responses(404, body=True))
async def change_trigger(trigger_id: str, body: TriggerChanges, principal: Decider, services: ServicesDep) -> Response:
    trigger = await services.schedules.change(principal, trigger_id, changes_in(body), trigger=True)
    return json_response(200, await shown(services, principal, trigger.id, trigger=True))


@routes.delete(
    "/triggers/{trigger_id}", status_code=204, response_class=Response, responses=error_responses(404, 422, 507)
)
async def delete_trigger(trigger_id: str, principal: Decider, services: ServicesDep) -> Response:
    """What it has started stays, and goes on."""
    await services.schedules.remove(principal, trigger_id, trigger=True)
    return Response(status_code=204)


@routes.post(
    "/triggers/{trigger_id}/secret",
    response_model=TriggerSecretResponse,
    responses=error_responses(404, 422, 507),
)
async def replace_trigger_secret(trigger_id: str, principal: Decider, services: ServicesDep) -> Response:
    """The secret before it is good no more. The new one is shown this once."""
    return json_response(200, {"secret": await services.triggers.replace_secret(principal, trigger_id)})


@routes.post(
    "/triggers/{trigger_id}",
    status_code=202,
    response_model=AcceptedDeliveryResponse,
    responses=error_responses(400, 408, 409, 413, 422, 429, 507),
)
async def start_trigger(trigger_id: str, request: Request, services: ServicesDep) -> Response:
    """Needs no token, but a signature as the Standard Webhooks specification says: `webhook-signature: v1,` and the base64 of
    HMAC-SHA256, with the trigger's secret, over `webhook-id`, `webhook-timestamp` and the body, with dots between them. A delivery with
    an id that came before gets the same answer and starts nothing."""
    delivery = _delivery_of(request)
    try:
        start = await services.triggers.deliver(trigger_id, delivery)
    except NotSigned:
        await request.scope[AFTER_WRONG_SIGNATURE]()
        raise
    return json_response(202, {"delivery": delivery.id, "accepted_at": start.due_at})


def _delivery_of(request: Request) -> Delivery:
    def sent(name: bytes) -> str:
        return header(request.scope, name) or ""

    return Delivery(sent(b"webhook-id"), sent(b"webhook-timestamp"), sent(b"webhook-signature"), body_of(request.scope))
