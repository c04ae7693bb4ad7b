"""Notifications: where a person is told that a decision waits. Each person manages their own targets; others' do not exist for them."""

from typing import Annotated, assert_never

from fastapi import Response
from pydantic import Field

from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.notifications import DeliveryResponse, NewTargetResponse, TargetList, TargetResponse
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.network import LONGEST_ADDRESS
from anycowork.domain.notifications import TargetKind

routes = Router(tags=["notifications"])

Name = Annotated[str, Field(min_length=1, max_length=120, examples=["My phone"])]


class SubscriptionKeys(Boundary):
    p256dh: Annotated[str, Field(min_length=1, max_length=200)]
    auth: Annotated[str, Field(min_length=1, max_length=100)]


class PushSubscription(Boundary):
    """What the browser's `PushSubscription.toJSON()` holds."""

    endpoint: Annotated[str, Field(min_length=1, max_length=2_000)]
    keys: SubscriptionKeys
    expiration_time: Annotated[float | None, Field(alias="expirationTime")] = None


class NewTarget(Boundary):
    """A webhook gets `url`, and may bring a `secret`; without one, the server makes one. An e-mail gets `address`, a browser its
    `subscription`."""

    kind: Annotated[TargetKind, Field(strict=False)]
    name: Name | None = None
    url: (
        Annotated[str, Field(min_length=1, max_length=LONGEST_ADDRESS, examples=["https://example.org/hook"])] | None
    ) = None
    address: Annotated[str, Field(min_length=1, max_length=254, examples=["ada@example.org"])] | None = None
    secret: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    subscription: PushSubscription | None = None


@routes.get("/notifications/targets", response_model=TargetList, responses=error_responses())
async def list_targets(principal: Decider, services: ServicesDep) -> Response:
    targets = await services.notifications.all(principal)
    return json_response(
        200, {"targets": [target.to_json() for target in targets], "push_key": await services.notifications.push_key()}
    )


@routes.get("/notifications/targets/{target_id}", response_model=TargetResponse, responses=error_responses(404, 422))
async def show_target(target_id: str, principal: Decider, services: ServicesDep) -> Response:
    return json_response(200, (await services.notifications.require(principal, target_id)).to_json())


@routes.post(
    "/notifications/targets",
    status_code=201,
    response_model=NewTargetResponse,
    responses=error_responses(409, body=True),
)
async def add_target(body: NewTarget, principal: Decider, services: ServicesDep) -> Response:
    """What waits for you is told there from now on: its kind and its page, never its contents."""
    match body.kind:
        case TargetKind.WEBHOOK:
            target, secret = await services.notifications.add_webhook(
                principal, name=body.name, url=_given(body.url, "url"), secret=body.secret
            )
            return json_response(201, {**target.to_json(), "secret": secret})
        case TargetKind.EMAIL:
            address = _given(body.address, "address")
            target = await services.notifications.add_email(principal, name=body.name, address=address)
        case TargetKind.WEB_PUSH:
            if body.subscription is None:
                raise Invalid("A target of this kind needs 'subscription'.", param="subscription")
            target = await services.notifications.add_browser(
                principal,
                name=body.name,
                endpoint=body.subscription.endpoint,
                public_key=body.subscription.keys.p256dh,
                secret=body.subscription.keys.auth,
            )
        case _:
            assert_never(body.kind)
    return json_response(201, {**target.to_json(), "secret": None})


@routes.delete(
    "/notifications/targets/{target_id}",
    status_code=204,
    response_class=Response,
    responses=error_responses(404, 422, 507),
)
async def remove_target(target_id: str, principal: Decider, services: ServicesDep) -> Response:
    await services.notifications.remove(principal, target_id)
    return Response(status_code=204)


@routes.post(
    "/notifications/targets/{target_id}/test",
    response_model=DeliveryResponse,
    responses=error_responses(404, 422, 429),
)
async def test_target(target_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Sends a test now and answers how it ended. One that is delivered enables the target again."""
    outcome = await services.notifications.test(principal, target_id)
    return json_response(200, {"delivered": outcome.is_delivered, "status": outcome.status, "error": outcome.error})


def _given(text: str | None, param: str) -> str:
    """Raises: Invalid without a text."""
    if text is None:
        raise Invalid(f"A target of this kind needs '{param}'.", param=param)
    return text
