"""Requests about a chat that another process works in: it answers them, because the turns that they are about run there."""

from collections.abc import Awaitable, Callable

from anycowork.domain.principals import Principal
from anycowork.domain.values import value


@value
class ForwardedRequest:
    """A request that passed authentication where it came in. `body` is JSON, or empty."""

    chat_id: str
    principal: Principal
    method: str
    path: str
    query: str
    body: bytes


@value
class ForwardedAnswer:
    status: int
    body: bytes


ForwardRequest = Callable[[ForwardedRequest], Awaitable[ForwardedAnswer | None]]
"""Returns what the process that has the chat answered; None if nobody took the request, so that nothing was done.

Raises: ChatHeld if it was taken and not answered in time: then it may have been done. StorageFault.
"""
