"""A step of the agent costs what is new in it, however long the turn has been. Calls are counted, not time."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from anycowork.domain.messages import Message
from anycowork.domain.model import Chunk, ModelRequest, ReplyFinished, TextChunk
from anycowork.prompts.window import Window
from support.scripted_model import call as call_of
from unit.prompts.chats import call, result, words
from workplace import LOOK_UP, open_workplace

EARLY, LATE = slice(5, 25), slice(105, 125)
STEPS = 130
A_LITTLE = 1.1  # a list that outgrows its room now and then; one function more for each step before would be a third


@dataclass(slots=True)
class Count:
    """Functions called on this thread, Python's and C's."""

    calls: int = 0

    def see(self, frame: object, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")


@contextmanager
def counting() -> Iterator[Count]:
    count, before = Count(), sys.getprofile()
    sys.setprofile(count.see)
    try:
        yield count
    finally:
        sys.setprofile(before)


class CountingModel:
    """Looks another word up each time it is asked, and notes how much was done until then."""

    name = "counting"

    def __init__(self, count: Count) -> None:
        self.count = count
        self.noted: list[int] = []

    async def answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.noted.append(self.count.calls)
        more = len(self.noted) <= STEPS
        yield TextChunk(call_of(LOOK_UP, word=f"word {len(self.noted)}") if more else "That was all.")
        yield ReplyFinished("stop")


async def test_a_late_step_calls_as_many_functions_as_an_early_one(tmp_path: Path) -> None:
    with counting() as count:
        model = CountingModel(count)
        async with open_workplace(tmp_path, model, steps=STEPS + 1) as place:
            await place.turn(await place.open_chat())
    steps = [after - before for before, after in pairwise(model.noted)]
    assert len(steps) == STEPS
    assert 0 < sum(steps[LATE]) <= A_LITTLE * sum(steps[EARLY])


def test_a_step_beyond_the_models_context_costs_what_is_shown_not_what_is_there() -> None:
    window = Window()
    window.extend([words("Look all the words up.")])
    _grow(window, to=500)
    early = _calls_to(lambda: _grow(window, to=540))
    _grow(window, to=4_000)
    late = _calls_to(lambda: _grow(window, to=4_040))
    assert 0 < late <= A_LITTLE * early


def _grow(window: Window, *, to: int) -> None:
    while len(window) < to:
        window.extend(_a_step(len(window)))
        shown = window.shown(budget=2_000, system="You are AnyCowork.")
        assert shown.tokens <= 2_000


def _a_step(number: int) -> list[Message]:
    return [call(f"c{number}", "read_file"), result(f"c{number}", "read_file", "what stands there " * 10)]


def _calls_to(work: Callable[[], None]) -> int:
    with counting() as count:
        work()
    return count.calls
