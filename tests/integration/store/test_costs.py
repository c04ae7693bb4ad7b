"""What a step of the agent asks of the disk, counted: no clock, so that a dearer step is seen wherever the tests run."""

from collections import Counter
from pathlib import Path

import pytest

from anycowork.agent import turn_context
from support.live_server import LiveServer, live_server
from support.scripted_model import call

SHORT, LONG = 2, 7

# Each message once and its row in `messages`, three records for the call and two for its result, the call with its result,
# what the model used with what is set aside for it next, and where the chat stands. No turn: it only goes on.
OF_A_STEP = {
    "BEGIN": 1,
    "COMMIT": 1,
    "INSERT INTO records": 5,
    "INSERT INTO messages": 2,
    "INSERT INTO calls": 1,
    "UPDATE usage": 1,
    "UPDATE chats": 1,
}


async def test_a_step_that_reads_takes_one_commit_and_writes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_context, "FLUSH_SECONDS", 60.0)  # on a slow machine too, no read is a long one
    async with live_server(tmp_path, files={"a.txt": "hello\n"}) as client:
        short = await statements_of_a_turn(client, calls=SHORT)
        long = await statements_of_a_turn(client, calls=LONG)
    grown = {kind: count / (LONG - SHORT) for kind, count in (long - short).items()}
    assert grown == OF_A_STEP


async def statements_of_a_turn(client: LiveServer, *, calls: int) -> Counter[str]:
    client.model.replies += [call("read_file", path="a.txt", start_line=n + 1) for n in range(calls)] + ["Done."]
    chat = await client.chat()
    writer = client.server.database.writer
    seen: list[str] = []
    await writer.run(lambda connection: connection.set_trace_callback(seen.append))
    await chat.send("Read it, line by line.")
    await writer.run(lambda connection: connection.set_trace_callback(None))
    return Counter(kind_of(statement) for statement in seen)


def kind_of(statement: str) -> str:
    words = statement.split()
    return " ".join(words[: {"INSERT": 3, "DELETE": 3, "UPDATE": 2}.get(words[0], 1)])
