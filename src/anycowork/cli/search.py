"""`anycowork search`: searches all chats on the server and prints the messages it finds."""

import json
from collections.abc import Mapping
from urllib.parse import urlencode

from anycowork.cli.options import Invocation
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json


def search(invocation: Invocation, query: str, *, limit: int, as_json: bool) -> int:
    """Prints what was found; returns 0 if there is something, 1 if not, 2 for wrong arguments."""

    async def work(client: ServerClient) -> int:
        found = await client.get(f"/search?{urlencode({'q': query[:500], 'limit': limit})}")
        results = [result for result in _listed(found) if isinstance(result, dict)]
        if as_json:
            stdout().json(json.dumps(found, ensure_ascii=False))
        for result in () if as_json else results:
            _print(result)
        if not results and not as_json:
            stderr().line("Nothing found.")
        return 0 if results else 1

    return run_with_server("search", invocation, work)


def _listed(found: Json) -> list[object]:
    results = found.get("results")
    return list(results) if isinstance(results, list) else []


def _print(result: Mapping[str, object]) -> None:
    out, parts = stdout(), result.get("parts")
    at = str(result["created_at"])[:16].replace("T", " ")
    out.line(strip_controls(f"{result['context_id']}  {at}  {result['title']}"))
    shown = "".join(
        out.paint(strip_controls(str(part["text"])), "bold") if part.get("match") else strip_controls(str(part["text"]))
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict)
    )
    out.line(f"    {result['role']}: {shown}")
