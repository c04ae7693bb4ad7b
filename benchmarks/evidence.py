"""What does the evidence of a turn cost that no check belongs to: expectations derived, changes weighed, the word recorded?

Beside it the same turns with the mechanism taken out: it looks at nothing and says nothing.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import uvloop

from anycowork.agent.evidence_checker import EvidenceChecker
from anycowork.domain.chats import Autonomy, Chat
from measuring import Ground, Leg, spending
from workplace import PERSON, InstantModel, Workplace, open_workplace

QUESTION = "CPU of the evidence of a turn without a check"
TURNS = 40
FILES = {"path": "notes/{number}.md", "content": "line {number}\n"}
REQUESTS = {
    "question": ("Which words are in words.txt?", "read_file", {"path": "words.txt"}),
    "change": ("Write notes/0.md with one line. Leave words.txt as it is.", "create_file", FILES),
}


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {
        f"{name}_{'with' if judged else 'without'}": partial(_turns, ground, *request, judged=judged)
        for name, request in REQUESTS.items()
        for judged in (True, False)
    }


def _turns(ground: Ground, text: str, tool: str, parameters: dict[str, str], *, judged: bool) -> dict[str, float]:
    async def nothing(*_: object) -> None:
        return None

    with ground.fresh("evidence") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        if judged:
            return runner.run(_take_turns(folder, InstantModel(1, tool, parameters), text))
        with patch.multiple(EvidenceChecker, before_change=nothing, objection=nothing, collect=nothing):
            return runner.run(_take_turns(folder, InstantModel(1, tool, parameters), text))


async def _take_turns(folder: Path, model: InstantModel, text: str) -> dict[str, float]:
    async with open_workplace(folder, model) as place:
        chats = [await place.open_chat() for _ in range(TURNS + 1)]
        for chat in chats:
            await place.cli.change_chat(PERSON, chat.id, autonomy=Autonomy.EDITS)
        await _turn(place, chats.pop(), text)  # warm
        (folder / "workspace/notes/0.md").unlink(missing_ok=True)
        with spending() as spent:
            for chat in chats:
                await _turn(place, chat, text)
                (folder / "workspace/notes/0.md").unlink(missing_ok=True)  # for the next turn
    return {"cpu_ms": spent.cpu * 1e3 / TURNS}


async def _turn(place: Workplace, chat: Chat, text: str) -> None:
    ended = place.resting.next_end_of(chat.id)
    await place.cli.send(PERSON, chat.id, text)
    await asyncio.wait_for(ended, 120)
