"""The search engines that `search_web` can ask: how each is asked, and how its answer is read. Pure.

A new engine is one more kind with its request and its fields.
"""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import assert_never
from urllib.parse import urlencode

from pydantic import JsonValue

from anycowork.domain.network import WebAddress, read_address
from anycowork.domain.values import value

MOST_RESULTS = 10
_LONGEST_TITLE, _LONGEST_SNIPPET, _LONGEST_ADDRESS = 300, 1_000, 2_000


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
