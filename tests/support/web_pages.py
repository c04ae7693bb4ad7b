"""A pretended web: pages by host, behind the network that the tools dial, and the calls that read them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from support.fake_network import FakeNetwork, FakeService, serving


def page(body: bytes | str, *headers: str, status: str = "200 OK", kind: str = "text/html; charset=utf-8") -> bytes:
    data = body.encode() if isinstance(body, str) else body
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(data)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


def redirect(to: str) -> bytes:
    return page("", f"Location: {to}", status="302 Found")


@asynccontextmanager
async def web(answers: dict[str, bytes]) -> AsyncIterator[tuple[FakeNetwork, dict[str, FakeService]]]:
    """Each host answers every request on port 80 with its answer."""
    network = FakeNetwork()
    async with AsyncExitStack() as stack:
        services = {}
        for number, (host, answer) in enumerate(answers.items()):
            services[host] = await stack.enter_async_context(serving(FakeService(answer)))
            network.put(host, 80, services[host], f"93.184.215.{14 + number}")
        yield network, services
