"""fetch_page: reads one page of the web as Markdown, or a PDF as text. Its host is asked about like any network destination."""

import asyncio
from typing import Annotated

from pydantic import Field, field_validator

from anycowork.domain.boundary import Boundary
from anycowork.domain.network import LONGEST_ADDRESS, WebAddress, read_address
from anycowork.domain.origins import FROM_THE_WEB
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolDisplay, ToolKind, ToolResult
from anycowork.files.worker_host import WorkerHost
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress
from anycowork.tools.built_in_tool import BuiltInTool
from anycowork.tools.parameters import PlainText, parsed
from anycowork.tools.web.web_client import PageNotRead, WebClient, WebResponse

MOST_REDIRECTS = 5
MOST_TEXT = 1_000_000  # bytes
_AT_ONCE = 2  # pages that are turned into text
PAGE_HOST = WorkerHost("anycowork.tools.web.page_worker")  # not started before the first page
_REDIRECTS = (301, 302, 303, 307, 308)
_ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/*;q=0.9, application/json;q=0.8, */*;q=0.1"


class FetchPageParameters(Boundary):
    url: Annotated[PlainText, Field(min_length=1, max_length=LONGEST_ADDRESS)] = Field(
        description="the page's whole address, such as https://example.org/page"
    )

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        read_address(url)
        return url


class FetchPage(BuiltInTool[FetchPageParameters]):
    name = "fetch_page"
    category = "web"
    description = "Read a page of the web as Markdown, or a PDF as text. Its host must be allowed."
    priority = 70
    web = True
    display = ToolDisplay(ToolKind.FETCH, ("url",), ("url",), {"url": "https://example.org/"})
    model = FetchPageParameters

    def __init__(self, egress: Egress | None) -> None:
        self._egress = egress or Egress()
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Returns at once: looks up no name and sends nothing."""
        return self.inspect(parsed(self.model, self.name, parameters), parameters, tool_context)

    def inspect(self, args: FetchPageParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        address = read_address(args.url)
        return Prepared(
            tool=self.name, parameters=parameters, resource=f"web:{address}", network=address.reach, payload=address
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = FetchPageParameters.model_validate(prepared.parameters)
        client = WebClient(self._egress, NetworkReach(prepared.network, tool_context.named_network))
        address, response = await self._followed(client, read_address(args.url), prepared)
        if response.status >= 400:
            raise PageNotRead(f"{address.destination} answered with status {response.status}, so there is no page.")
        async with self._turn:
            answer = await asyncio.to_thread(
                PAGE_HOST.run,
                response.body,
                response.headers.get("content-type", "")[:200],
                response.headers.get("content-encoding", "")[:200],
                str(address),
                str(MOST_TEXT),
            )
        fault, text = answer.get("fault"), answer.get("text")
        if isinstance(fault, str) or not isinstance(text, str):
            raise PageNotRead(f"The page {fault or 'could not be turned into text'}.")
        cut = f"\n[Only the first {MOST_TEXT // 1000:,} KB of the page are kept.]" if answer.get("cut") else ""
        return ToolResult(
            status=CallStatus.OK,
            content=f"{address}\n{FROM_THE_WEB}\n\n{text or '[The page has no text.]'}{cut}",
            facts={"web_host": address.destination.host, "url": str(address), "bytes": len(response.body)},
        )

    async def _followed(
        self, client: WebClient, address: WebAddress, prepared: Prepared
    ) -> tuple[WebAddress, WebResponse]:
        """Follows redirects inside the destinations of the call alone. Raises: PageNotRead, ToolTimedOut."""
        for _ in range(MOST_REDIRECTS + 1):
            response = await client.request(address, headers={"Accept": _ACCEPTED})
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location:
                return address, response
            try:
                target = address.joined(location)
            except ValueError as error:
                raise PageNotRead(f"The page redirects to an address that is not read: {error}.") from None
            if target.destination not in prepared.network:
                raise PageNotRead(
                    f"The page redirects to {target}, on another host. If you need it, call fetch_page for that address."
                )
            if address.scheme == "https" and target.scheme == "http":
                raise PageNotRead(f"The page redirects from https to {target}, which is not encrypted.")
            address = target
        raise PageNotRead(f"The page redirects more than {MOST_REDIRECTS} times.")
