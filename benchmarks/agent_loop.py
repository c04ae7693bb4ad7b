"""What does one step of the agent cost: model asked, call read, door passed, tool run, two messages and their events durable?

Beside it bare SQLite loops that make the same messages durable, each when it is known or both at once, and LangGraph's prebuilt agent.
"""

import asyncio
import json
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import msgspec
import uvloop

from measuring import REPOSITORY, Ground, Leg, NotMeasured, peer_python, spending
from workplace import LOOK_UP, InstantModel, looked_up, open_workplace

QUESTION = "CPU of one step of the agent (20 tool calls a turn)"
CALLS = 20
TURNS = 5
AGENTS = 64
WORDS = {"word": "word {number}"}


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {
        "bare_sqlite": partial(_bare, ground, chats=1, transactions=3),
        "bare_sqlite_two_commits": partial(_bare, ground, chats=1, transactions=2),
        "bare_sqlite_one_commit": partial(_bare, ground, chats=1, transactions=1),
        "bare_sqlite_64": partial(_bare, ground, chats=AGENTS, transactions=3),
        "one_agent": partial(_ours, ground, agents=1, turns=TURNS, tool=LOOK_UP, parameters=WORDS),
        "agents_64": partial(_ours, ground, agents=AGENTS, turns=1, tool=LOOK_UP, parameters=WORDS),
        "one_agent_read_file": partial(
            _ours, ground, agents=1, turns=TURNS, tool="read_file", parameters={"path": "words.txt"}
        ),
        "langgraph": partial(_langgraph, ground, agents=1, turns=TURNS),
        "langgraph_64": partial(_langgraph, ground, agents=AGENTS, turns=1),
    }


# --- ours


def _ours(ground: Ground, *, agents: int, turns: int, tool: str, parameters: dict[str, str]) -> dict[str, float]:
    with ground.fresh("agent") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(_take_turns(folder, InstantModel(CALLS, tool, parameters), agents=agents, turns=turns))


async def _take_turns(folder: Path, model: InstantModel, *, agents: int, turns: int) -> dict[str, float]:
    async with open_workplace(folder, model) as place:
        await place.turn(await place.open_chat())  # warm
        chats = [[await place.open_chat() for _ in range(agents)] for _ in range(turns)]
        commits = place.database.writer.tally.commits
        with spending() as spent:
            for together in chats:
                await asyncio.gather(*(place.turn(chat) for chat in together))
        commits = place.database.writer.tally.commits - commits
        stored = await place.database.store.messages.all(chats[-1][-1].id)
    if len(stored) != 2 * CALLS + 2:
        raise AssertionError(f"a turn of {CALLS} calls left {len(stored)} messages")
    steps = CALLS * agents * turns
    return {"cpu_us": spent.cpu * 1e6 / steps, "wall_us": spent.wall * 1e6 / steps, "commits": commits / steps}


# --- the floor


def _bare(ground: Ground, *, chats: int, transactions: int) -> dict[str, float]:
    """The same messages, as durable, in so many commits a step; of several chats, all in each commit.

    Two: each message when it is known. One: both together, as an agent does whose call only reads.
    """
    steps = CALLS * TURNS
    with ground.fresh("bare") as folder, closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE usage (id INTEGER PRIMARY KEY, reserved INTEGER NOT NULL)")
        database.execute(
            "CREATE TABLE messages (chat INTEGER, seq INTEGER, body BLOB NOT NULL, PRIMARY KEY (chat, seq)) WITHOUT ROWID"
        )
        with spending() as spent:
            for step in range(steps):
                if transactions > 2:
                    _commit(database, "INSERT INTO usage (reserved) VALUES (?)", [(500,) for _ in range(chats)])
                rows: list[tuple[object, ...]] = []
                for seq, message in enumerate(_messages(step), start=2 * step):
                    rows += [(chat, seq, msgspec.json.encode(message)) for chat in range(chats)]
                    if transactions > 1 or seq % 2:
                        _commit(database, "INSERT INTO messages VALUES (?, ?, ?)", rows)
                        rows.clear()
    return {"cpu_us": spent.cpu * 1e6 / steps / chats, "wall_us": spent.wall * 1e6 / steps / chats}


def _commit(database: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    database.execute("BEGIN IMMEDIATE")
    for row in rows:
        database.execute(statement, row)
    database.execute("COMMIT")


def _messages(step: int) -> Iterator[dict[str, object]]:
    """The two messages of a step, as large as ours."""
    call = {"tool": LOOK_UP, "parameters": {"word": f"word {step}"}, "terminate": False}
    frame = {"id": "0" * 36, "agent_role": "actor", "turn_id": "0" * 36, "created_at": "2026-01-01T00:00:00.000000Z"}
    frame |= {"job_id": None, "task_id": None, "reasoning": None, "seq": step}
    payload = {"id": "0" * 36, **call}
    yield {**frame, "role": "assistant", "message_type": "tool_call", "content": json.dumps(call), "payload": payload}
    payload = {"tool_call_id": "0" * 36, "tool": LOOK_UP, "status": "ok"}
    content = looked_up(f"word {step}")
    yield {**frame, "role": "tool", "message_type": "tool_result", "content": content, "payload": payload}


# --- the peer


def _langgraph(ground: Ground, *, agents: int, turns: int) -> dict[str, float]:
    script = REPOSITORY / "benchmarks" / "peers" / "langgraph_agent.py"
    words = [peer_python("langgraph"), script, CALLS, turns, agents, ground.folder]
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    if ran.returncode:
        raise NotMeasured(f"LangGraph ended with {ran.returncode}: {ran.stderr.strip()[-200:]}")
    return {"cpu_us": median(json.loads(ran.stdout)["us_per_iteration"])}
