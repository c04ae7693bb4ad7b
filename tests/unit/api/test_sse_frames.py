"""The stream of records has two encodings here: server-sent events of the API, and one that a test writes without any HTTP."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import msgspec

from anycowork.api.sse import POSITION, SEQ, encode_sse
from anycowork.domain.events import EventType, Record, StreamItem, StreamSignal
from anycowork.events.hub import Hub, Streams
from support.spec import proves
from support.stored import SOON, add_chat, message, opened


def test_records_become_events_with_the_number_to_resume_from() -> None:
    records = [
        Record("c1", 7, EventType.MESSAGE, b'{"seq":7}', 40),
        Record("c1", 8, EventType.TURN_ENDED, b'{"seq":8}', 41),
    ]
    assert encode_sse(records, SEQ) == (
        b'id: 7\nevent: message\ndata: {"seq":7}\n\nid: 8\nevent: turn-ended\ndata: {"seq":8}\n\n'
    )
    assert encode_sse(records[1:], POSITION) == b'id: 41\nevent: turn-ended\ndata: {"seq":8}\n\n'


def test_signals_become_comments_without_a_number() -> None:
    assert encode_sse(StreamSignal.KEEP_ALIVE, SEQ) == b": keep-alive\n\n"
    assert encode_sse(StreamSignal.CHATS_CHANGED, POSITION) == b": chats\n\n"


def as_notification(item: StreamItem) -> list[dict[str, object]]:
    """A second protocol: JSON-RPC notifications, as ACP and MCP send them."""
    if isinstance(item, StreamSignal):
        return []
    return [{"method": f"chat/{record.type.value}", "params": msgspec.json.decode(record.body)} for record in item]


@proves("EVT-1/1")
async def test_another_protocol_subscribes_without_parsing_http(tmp_path: Path) -> None:
    hub = Hub()
    async with opened(tmp_path, hub.publish) as database:
        await database.journal.write(add_chat("c1", message("m1", "hello")))
        async with (
            asyncio.timeout(SOON),
            aclosing(Streams(database.store.records, hub).follow("c1", after=0)) as stream,
        ):
            [sent] = as_notification(await anext(stream))
    assert sent["method"] == "chat/message"
    assert isinstance(sent["params"], dict) and sent["params"]["message"]["content"] == "hello"
