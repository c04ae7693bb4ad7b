"""Which calls of one reply run side by side, and what a finished step of the plan gives to the next one."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from anycowork.agent.loop import Agent
from anycowork.agent.tool_runner import _side_by_side
from anycowork.agent.turn_context import TurnTime
from anycowork.domain.chats import Limits, Turn
from anycowork.domain.tools import Call
from anycowork.server.clock import SystemClock
from support.spec import proves


@proves("LOOP-6/2")
def test_only_reads_of_one_step_that_follow_each_other_run_side_by_side() -> None:
    calls = [
        Call(name, "c", "t", "b", number, name.rstrip("123"), {}, role_at_issue="actor", plan_step=step)
        for number, (name, step) in enumerate(
            [("read1", None), ("read2", None), ("write1", None), ("write2", None), ("read3", "1"), ("read4", "2")]
        )
    ]
    groups = [[call.id for call in group] for group in _side_by_side(calls, lambda call: call.id.startswith("read"))]
    assert groups == [["read1", "read2"], ["write1"], ["write2"], ["read3"], ["read4"]]


@proves("LOOP-4/8")
async def test_finished_step_gives_the_next_one_all_steps_and_all_the_time() -> None:
    limits = Limits(steps=3, seconds=5_000.0, faults=3)
    async with asyncio.timeout(60) as deadline:  # noqa: ASYNC100  # only its time is looked at
        turn = Turn("t", "c", "actor", "p", "m", steps=2, seconds=40.0)
        time = TurnTime(started=SystemClock().monotonic(), seconds_before=40.0, deadline=deadline)
        context = SimpleNamespace(
            progress=SimpleNamespace(count_finished=lambda: 1),
            proof=SimpleNamespace(finished_steps=0),
            time=time,
            turn=turn,
        )
        Agent._reset_limits(cast(Any, SimpleNamespace(_clock=SystemClock())), cast(Any, context), limits)
        assert context.turn.steps_before == 2 and context.turn.seconds_before >= 40.0
        assert (deadline.when() or 0.0) > asyncio.get_running_loop().time() + 4_000
