"""search_web: asks the search engine that a person configured. There is none by default, and the tool says so."""

import asyncio
import json
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import assert_never
from urllib.parse import urlencode

from pydantic import Field, JsonValue

from anycowork.domain.boundary import Boundary
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import ToolFault
from anycowork.domain.network import WebAddress, read_address
from anycowork.domain.origins import FROM_THE_WEB
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolDisplay, ToolKind, ToolResult
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress
from anycowork.tools.built_in_tool import BuiltInTool
from anycowork.tools.parameters import PlainText, parsed
from anycowork.tools.web.fetch_page import PAGE_HOST
from anycowork.tools.web.web_client import PageNotRead, WebClient

MOST_RESULTS = 10
_LONGEST_TITLE, _LONGEST_SNIPPET, _LONGEST_ADDRESS = 300, 1_000, 2_000
_MOST_ANSWER = 2 << 20
_NO_ENGINE = (
    "No search engine is configured, so nothing was searched. An admin can add one (SearXNG, Brave or Tavily) in the settings, under"
    " Web. Meanwhile, read pages whose address you know with fetch_page."
)


class EngineKind(StrEnum):
    SEARXNG = "searxng"
    BRAVE = "brave"
    TAVILY = "tavily"


USUAL_ADDRESSES = {
    EngineKind.BRAVE: "https://api.search.brave.com/res/v1/web/search",
    EngineKind.TAVILY: "https://api.tavily.com/search",
}


@value
class SearchEngine:
    """`address` is where its searches are asked for."""

    kind: EngineKind
    address: WebAddress
    key: str | None = None


@value
class SearchRequest:
    address: WebAddress
    headers: dict[str, str]
    content: bytes | None = None


@value
class WebResult:
    title: str
    url: str
    snippet: str


def engine_address(kind: EngineKind, base_url: str | None) -> WebAddress:
    """Raises: ValueError if there is none, or it is not one."""
    if base_url is None and kind not in USUAL_ADDRESSES:
        raise ValueError(f"an engine of the kind '{kind.value}' needs its address")
    address = read_address(base_url or USUAL_ADDRESSES[kind])
    if kind is EngineKind.SEARXNG and not address.target.rstrip("/").endswith("/search"):
        return address.joined(f"{address.target.rstrip('/')}/search")
    return address


def search_request(engine: SearchEngine, query: str) -> SearchRequest:
    accept = {"Accept": "application/json"}
    match engine.kind:
        case EngineKind.SEARXNG:
            address = engine.address.joined(f"?{urlencode({'q': query, 'format': 'json'})}")
            return SearchRequest(address, {**accept, **_bearer(engine.key)})
        case EngineKind.BRAVE:
            address = engine.address.joined(f"?{urlencode({'q': query, 'count': MOST_RESULTS})}")
            return SearchRequest(address, {**accept, "X-Subscription-Token": engine.key or ""})
        case EngineKind.TAVILY:
            content = json.dumps({"query": query, "max_results": MOST_RESULTS}).encode()
            return SearchRequest(
                engine.address, {**accept, **_bearer(engine.key), "Content-Type": "application/json"}, content
            )
        case _:
            assert_never(engine.kind)


def search_results(kind: EngineKind, answer: JsonValue) -> list[WebResult]:
    """Raises: ValueError if the answer is not that of such an engine."""
    match kind, answer:
        case EngineKind.BRAVE, {"web": {"results": [*items]}}:
            return [*_read(items, "description")]
        case EngineKind.BRAVE, {"query": dict()}:
            return []  # Brave leaves the part out where it found nothing
        case ((EngineKind.SEARXNG | EngineKind.TAVILY), {"results": [*items]}):
            return [*_read(items, "content")]
        case _:
            raise ValueError(f"that is not an answer of an engine of the kind '{kind.value}'")


def _read(items: list[JsonValue], snippet_field: str) -> Iterator[WebResult]:
    for item in items[:MOST_RESULTS]:
        if isinstance(item, dict) and isinstance(url := item.get("url"), str):
            title, snippet = item.get("title"), item.get(snippet_field)
            yield WebResult(
                _line(title, _LONGEST_TITLE) or "(no title)", url[:_LONGEST_ADDRESS], _line(snippet, _LONGEST_SNIPPET)
            )


def _line(text: JsonValue, longest: int) -> str:
    return " ".join(text.split())[:longest] if isinstance(text, str) else ""


def _bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


class SearchWebParameters(Boundary):
    query: PlainText = Field(min_length=1, max_length=400, description="what to search for")


class SearchWeb(BuiltInTool[SearchWebParameters]):
    """`engine` returns the engine that is configured now, or None."""

    name = "search_web"
    category = "web"
    description = "Search the web and get titles, addresses and snippets. Read a page with fetch_page."
    priority = 71
    web = True
    display = ToolDisplay(ToolKind.SEARCH_WEB, ("query",), ("query",), {"query": "python tomllib example"})
    model = SearchWebParameters

    def __init__(self, engine: Callable[[], SearchEngine | None], egress: Egress | None = None) -> None:
        self._engine = engine
        self._egress = egress or Egress()

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Returns at once: asks nobody."""
        return self.inspect(parsed(self.model, self.name, parameters), parameters, tool_context)

    def inspect(self, args: SearchWebParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        engine = self._require_engine()
        return Prepared(
            tool=self.name,
            parameters=parameters,
            resource=f"web:{engine.address}",
            network=(engine.address.destination,),
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = SearchWebParameters.model_validate(prepared.parameters)
        engine = self._require_engine()
        # An admin named the engine's address, so that it may lie in their own network.
        client = WebClient(self._egress, NetworkReach(prepared.network, (engine.address.destination,)))
        request = search_request(engine, args.query)
        response = await client.request(
            request.address, headers=request.headers, content=request.content, most_bytes=_MOST_ANSWER
        )
        if response.status != 200:
            raise PageNotRead(
                f"The search engine at {engine.address.destination} answered with status {response.status}: its key or"
                " its address may be wrong."
            )
        results = await self._read(engine, response.headers.get("content-encoding", ""), response.body)
        host = engine.address.destination.host
        urls: list[object] = [_one_line(result.url) for result in results]
        return ToolResult(
            status=CallStatus.OK,
            content=f"Results of {host} for '{args.query}'\n{FROM_THE_WEB}\n\n{_listed(results)}",
            facts={"web_host": host, "results": urls},  # type: ignore[dict-item]  # a list of texts is JSON
        )

    async def _read(self, engine: SearchEngine, encoding: str, body: bytes) -> list[WebResult]:
        """Raises: PageNotRead."""
        unpacked = await asyncio.to_thread(
            PAGE_HOST.run, body, "application/json; charset=utf-8", encoding[:200], "", str(_MOST_ANSWER)
        )
        text = unpacked.get("text")
        try:
            return search_results(engine.kind, read_json(str(text).encode(), strict=False))
        except ValueError:
            raise PageNotRead(
                f"The search engine at {engine.address.destination} did not answer in the form of '{engine.kind.value}'."
                " SearXNG must allow the format 'json' in its settings."
            ) from None

    def _require_engine(self) -> SearchEngine:
        engine = self._engine()
        if engine is None:
            raise ToolFault(_NO_ENGINE)
        return engine


def _listed(results: list[WebResult]) -> str:
    entries = [
        f"{number}. {_one_line(result.title)}\n   {_one_line(result.url)}" for number, result in enumerate(results, 1)
    ]
    snippets = [f"\n   {_one_line(result.snippet)}" if result.snippet else "" for result in results]
    return "\n".join(entry + snippet for entry, snippet in zip(entries, snippets, strict=True)) or "Nothing was found."


def _one_line(text: str) -> str:
    return visible_line(UntrustedText(text))
