"""What does it cost to know where everything came from? Commands with the mechanism and with it taken out, in turns in one run.

A command in the sandbox appends a line to one file: the join of what it could read, of what its model has read, and the rows of its file
are kept. `…_files` have so many files in the workspace, `…_messages` so many messages in the chat, half of them results of a server, and
`many` changes 20,000 files at once. CPU of the server and of the command. The ratio is that of the turns beside each other.
"""

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from unittest.mock import patch

import uvloop

from anycowork.agent import call_recorder, tool_runner
from anycowork.agent.turn_origins import TurnOrigins
from anycowork.domain import messages as stored_messages
from anycowork.domain.journal import Change
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.origins import NO_ORIGINS, origin_of
from anycowork.permissions import gate
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.sandbox import Sandbox
from anycowork.server.clock import SystemClock
from anycowork.server.machine import find_bubblewrap
from anycowork.store.sql import change_writer
from anycowork.store.sql import messages as message_rows
from anycowork.store.sql.origins import StoredOrigins
from large_work import _adopt_orphans, _cpu, _reap_orphans, _sandboxed_chat
from measuring import Ground, Leg, NotMeasured, environment_of_ours
from workplace import InstantModel, Workplace, looked_up, open_workplace

QUESTION = "CPU of a command with its origins, beside the same command without the mechanism"
COMMANDS = 10
PAIRS = 6
MANY = 20_000
_CLOCK = SystemClock()
_APPEND = "echo line >> notes.txt"
_APPEND_ALL = "for file in src/*/*; do echo line >> $file; done"


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {
        "1000_files": partial(_ours, ground, files=1_000, messages=0),
        "20000_files": partial(_ours, ground, files=20_000, messages=0),
        "200000_files": partial(_ours, ground, files=200_000, messages=0),
        "1000_messages": partial(_ours, ground, files=1_000, messages=1_000),
        "5000_messages": partial(_ours, ground, files=1_000, messages=5_000),
        "many": partial(_ours, ground, files=MANY, messages=0, command=_APPEND_ALL),
    }


def _ours(ground: Ground, **given: object) -> dict[str, float]:
    found = find_bubblewrap()
    if found is None or not (found.works and found.overlay):
        raise NotMeasured("there is no bubblewrap that works here and knows --overlay")
    with ground.fresh("origins") as folder:
        task = json.dumps({"command": _APPEND, **given, "folder": str(folder), "bwrap": found.path})
        words = [sys.executable, __file__, task]
        done = subprocess.run(words, check=True, capture_output=True, timeout=3600, env=environment_of_ours())
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


class _Again(InstantModel):
    """Makes its calls in each turn, whatever the chat holds."""

    def __init__(self, calls: int, tool: str, parameters: dict[str, str]) -> None:
        super().__init__(calls, tool, parameters)
        self._replies_of_a_turn = calls + 1
        self._given = 0

    def reply(self, made: int) -> str:
        self._given += 1
        return super().reply((self._given - 1) % self._replies_of_a_turn)


async def _measured(folder: Path, bwrap: str, *, files: int, messages: int, command: str) -> dict[str, float]:
    for number in range(files // 20):
        (folder / f"workspace/src/{number}").mkdir(parents=True)
        for name in range(20):
            (folder / f"workspace/src/{number}/{name}").touch()
    commands = 1 if command == _APPEND_ALL else COMMANDS
    sandbox = Sandbox(bwrap, Staging(folder / "staging", folder / "shared"))
    model = _Again(commands, "execute_command", {"command": command})
    spent: dict[bool, list[float]] = {True: [], False: []}
    async with open_workplace(folder, model, sandbox=sandbox) as place:
        await _spent_by_turn(place, 0)  # a server's first command reads lists and makes its /etc
        order = random.Random(1)
        for _ in range(PAIRS):
            for present in order.sample([True, False], 2):
                with ExitStack() if present else taken_out():
                    spent[present].append(await _spent_by_turn(place, messages) / commands * 1000)
    ratios = [ours / plain for ours, plain in zip(spent[True], spent[False], strict=True)]
    return {"cpu_ms": median(spent[True]), "without_cpu_ms": median(spent[False]), "ratio": median(ratios)}


async def _spent_by_turn(place: Workplace, messages: int) -> float:
    """The CPU of one turn in a new chat."""
    chat = await _sandboxed_chat(place)
    said = [_result(chat.id, number) if number % 2 else _words(chat.id, number) for number in range(messages)]
    if said:
        await place.database.journal.write(Change(chat.id, tuple(said)))
    _reap_orphans()
    started = _cpu()
    await place.turn(chat, 1200)
    _reap_orphans()
    spent = _cpu() - started
    if not await place.database.store.calls.finished_intents(chat.id):
        raise AssertionError("the commands did not change anything")
    return spent


def _words(chat_id: str, number: int) -> Message:
    text = f"Look up number {number}."
    return Message(_CLOCK.new_id(), chat_id, Speaker.USER, text, turn_id=f"old-{number}", created_at=_CLOCK.now())


def _result(chat_id: str, number: int) -> Message:
    return Message(
        _CLOCK.new_id(),
        chat_id,
        Speaker.TOOL,
        looked_up("word"),
        message_type=MessageType.TOOL_RESULT,
        payload={"tool_call_id": f"call-{number}", "tool": "look_up", "status": "ok"},
        turn_id=f"old-{number - 1}",
        created_at=_CLOCK.now(),
        origins=frozenset({origin_of("mcp", f"server{number % 7}")}),
    )


@contextmanager
def taken_out() -> Iterator[None]:
    """Nothing is read, joined, kept or held."""

    async def none(*given: object) -> object:
        return NO_ORIGINS

    async def nobody(*given: object) -> bool:
        return False

    with ExitStack() as stack:
        for owner, name, instead in (
            (TurnOrigins, "of", lambda *given: NO_ORIGINS),
            (TurnOrigins, "words", lambda *given: []),
            (StoredOrigins, "of_workspace", none),
            (StoredOrigins, "of_paths", none),
            (StoredOrigins, "trusts_contents", nobody),
            (change_writer.origins, "add", lambda *given: None),
            (tool_runner, "origins_read_by", lambda *given: NO_ORIGINS),
            (call_recorder, "origins_of_interrupted", lambda *given: NO_ORIGINS),
            (message_rows, "stored_origins", lambda *given: NO_ORIGINS),
            (stored_messages, "stored_origins", lambda *given: NO_ORIGINS),
            (gate, "required_endorsement", lambda *given: None),
        ):
            stack.enter_context(patch.object(owner, name, instead))
        yield


if __name__ == "__main__":
    _adopt_orphans()
    asked = json.loads(sys.argv[1])
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:  # as the server runs
        found = runner.run(_measured(Path(asked.pop("folder")), asked.pop("bwrap"), **asked))
    sys.stdout.write(json.dumps(found))
