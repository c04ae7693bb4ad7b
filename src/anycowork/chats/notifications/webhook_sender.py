"""Posts messages to webhooks, signed. No redirect is followed, and of the answer only the status is read."""

import json
import time

from anycowork.domain.errors import ToolFault
from anycowork.domain.network import WebAddress, read_address, read_destination
from anycowork.domain.notifications import DeliveryOutcome, NotificationMessage, signed_headers
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress
from anycowork.tools.web.web_client import WebClient

SECONDS = 10.0
_GONE = 410


class HttpSender:
    """`private_hosts` are the hosts whose address need not be public, by the settings."""

    def __init__(self, egress: Egress, private_hosts: tuple[str, ...] = ()) -> None:
        self._egress = egress
        self._private = tuple(read_destination(host) for host in private_hosts)

    async def post(
        self,
        address: WebAddress,
        headers: dict[str, str],
        content: bytes,
        *,
        by_admin: bool,
        gone_statuses: tuple[int, ...],
    ) -> DeliveryOutcome:
        """Posts it once. What an admin named may lie in a private network. `gone_statuses` mean that nothing is taken there."""
        to = address.destination
        is_private = by_admin or any(host.covers(to) for host in self._private)
        client = WebClient(self._egress, NetworkReach((to,), (to,) if is_private else (), own_server=by_admin))
        try:
            response = await client.request(
                address, headers=headers, content=content, seconds=SECONDS, reads_body=False
            )
        except ToolFault as fault:
            return DeliveryOutcome(fault.message)
        if 200 <= response.status < 300:
            return DeliveryOutcome(status=response.status)
        reason = "redirects, which is not followed" if 300 <= response.status < 400 else "did not take it"
        return DeliveryOutcome(
            f"{to} {reason} (status {response.status}).", response.status, response.status in gone_statuses
        )


async def send_webhook(
    sender: HttpSender, address: str, secret: str, message: NotificationMessage, *, by_admin: bool
) -> DeliveryOutcome:
    body = json.dumps(message.to_json(), separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json", **signed_headers(message.id, int(time.time()), body, secret)}
    return await sender.post(read_address(address), headers, body, by_admin=by_admin, gone_statuses=(_GONE,))
