"""Knows the turns that have not ended: names job and task on what a job's turns write, and the chat's state while several turns run."""

from collections.abc import Iterable
from typing import TypeVar

from anycowork.domain.chats import ChatState, Turn, TurnState
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, RequireAccess, RequireState, SetChat
from anycowork.domain.messages import Message
from anycowork.domain.values import replace

Names = tuple[str | None, str | None]
"""A job's id and a task's id."""

Bound = TypeVar("Bound", Message, NewEvent)
_NO_JOB: Names = (None, None)
_REQUIRED = (RequireState, RequireAccess)
# What a person must do comes first, then what runs.
_ORDER = (ChatState.IDLE, ChatState.RUNNING, ChatState.AWAITING_ANSWER, ChatState.AWAITING_APPROVAL)


class JobTurns:
    """`open_turns` are the turns on tasks that an earlier server left, as `turns.task_states` returns them."""

    def __init__(self, open_turns: Iterable[tuple[str, str, bool, bool]] = ()) -> None:
        self._names: dict[str, Names] = {}
        self._states: dict[str, dict[str, ChatState]] = {}
        self.remember(open_turns)

    def remember(self, open_turns: Iterable[tuple[str, str, bool, bool]]) -> None:
        for chat_id, turn_id, parked, asks in open_turns:
            waiting = ChatState.AWAITING_ANSWER if asks else ChatState.AWAITING_APPROVAL
            self._states.setdefault(chat_id, {})[turn_id] = waiting if parked else ChatState.RUNNING

    def names_of(self, turn_id: str) -> Names:
        return self._names.get(turn_id, _NO_JOB)

    def with_names(self, noun: Bound) -> Bound:
        """Return the message or event with the job and task of its turn."""
        job_id, task_id = self.names_of(noun.turn_id or "")
        return noun if job_id is None or noun.job_id is not None else replace(noun, job_id=job_id, task_id=task_id)

    def bound(self, change: Change) -> Change:
        """Return the change as it is written: each message and event of a job's turn names job and task, and the
        chat's state is the one that the most urgent of its turns needs."""
        turns = [write for write in change.writes if type(write) is Turn]
        self._names |= {turn.id: (turn.job_id, turn.task_id) for turn in turns if turn.job_id is not None}
        if self._names:
            change = replace(
                change,
                writes=tuple(self.with_names(w) if type(w) is Message else w for w in change.writes),
                events=tuple(self.with_names(event) for event in change.events),
            )
        if turns or change.chat_id in self._states:
            change = self._with_state(change, turns)
        for turn in turns:
            if turn.state is TurnState.ENDED:
                self._names.pop(turn.id, None)
        return change

    def forget(self, chat_id: str) -> None:
        self._states.pop(chat_id, None)

    def _with_state(self, change: Change, turns: list[Turn]) -> Change:
        may_fail = any(type(write) in _REQUIRED for write in change.writes)  # then the turn may never begin
        new_state = next((w.state for w in reversed(change.writes) if type(w) is SetChat and w.state is not None), None)
        states = self._states.setdefault(change.chat_id, {})
        for turn in turns:
            if turn.state is TurnState.ENDED or (turn.job_id is None and turn.state is TurnState.PARKED):
                states.pop(turn.id, None)
            elif turn.job_id is None:  # the chat's own turn, which may wait for a job that it asked for
                if not may_fail:
                    states[turn.id] = ChatState.RUNNING
            elif turn.task_id is not None:
                waits = turn.state is TurnState.PARKED and new_state is not None
                states[turn.id] = new_state if waits and new_state is not None else ChatState.RUNNING
        if not states:
            del self._states[change.chat_id]
            return change
        if new_state is None:
            return change
        state = max((new_state, *states.values()), key=_ORDER.index)
        return change if state is new_state else _in_state(change, state)


def _in_state(change: Change, state: ChatState) -> Change:
    writes = tuple(
        replace(write, state=state) if type(write) is SetChat and write.state is not None else write
        for write in change.writes
    )
    events = tuple(
        replace(event, body={**event.body, "state": state.value}) if "state" in event.body else event
        for event in change.events
    )
    return replace(change, writes=writes, events=events)
