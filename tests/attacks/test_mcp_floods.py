"""MCP servers and agents that print without end, or list without end: others have their turn, and the memory stays bounded."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import anyio

from anycowork.delegates.transport import DelegateTransport
from anycowork.mcp.offers import MOST_READ
from anycowork.mcp.stdio_transport import read_messages
from anycowork.sandbox.stdio_program import LineLog, log_lines
from support.live_server import live_server
from support.raw_mcp_server import offered, raw_server

LINES = 20_000


def printed() -> asyncio.StreamReader:
    """What a program printed at once: short lines, none of them a message."""
    reader = asyncio.StreamReader(limit=1_000_000)
    reader.feed_data(b"x\n" * LINES)
    reader.feed_eof()
    return reader


async def turns_of_others(reading: Coroutine[None, None, object]) -> int:
    """How often another task ran until the reading was over."""
    turns = 0

    async def another() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.ensure_future(another())
    try:
        async with asyncio.timeout(60):
            await reading
    finally:
        other.cancel()
    return turns


async def test_a_buffer_of_short_lines_leaves_others_their_turn() -> None:
    """Each of these held the event loop until the last line was read: for seconds, again and again."""
    send, receive = anyio.create_memory_object_stream[object](16)
    with send, receive:
        assert await turns_of_others(read_messages(printed(), send, LineLog())) >= LINES
    assert await turns_of_others(log_lines(printed(), LineLog())) >= 2 * LINES // 4096
    unused: asyncio.StreamWriter = None  # type: ignore[assignment]  # nothing is sent
    assert await turns_of_others(DelegateTransport(printed(), unused, LineLog()).receive()) >= LINES


async def test_pages_of_tools_without_end_are_not_all_asked_for(tmp_path: Path) -> None:
    many = [offered(f"tool_{at}") for at in range(MOST_READ + 5_000)]
    async with live_server(tmp_path) as client:
        await client.ask("POST", "/mcp/servers", raw_server(tmp_path / "far", many, page=2_500), expect=201)
        shown = await client.ask("POST", "/mcp/servers/raw/connect", {})
        assert shown["status"] == "ready" and f"it offers {MOST_READ:,} tools" in str(shown["problems"])
