"""Rows of the chats that this process holds. No other process writes to these chats, so what was read stays true until this one writes."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar  # Any: each key has values of its own type

from anycowork.domain.chats import Chat, Turn, TurnState
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.journal import RemoveChat, SetChat, Write
from anycowork.domain.messages import Message
from anycowork.domain.tools import Call
from anycowork.domain.values import replace

MOST_CHATS = 256  # then those that were given back are dropped
CHAT, OPEN_TURNS = "chat", "open turns"
_SECOND = len("2026-01-01T00:00:00")
_OPEN = frozenset({TurnState.RUNNING, TurnState.PARKED, TurnState.DUE})

T = TypeVar("T")
Tasks = dict[str, tuple[JobTask, int]]
"""The tasks of a job, each with the number of the change that it belongs to, in the order of these."""
TurnsByTask = dict[str, dict[str, Turn]]
"""The turns on each task of a job by their ids, oldest first."""


class _ChatRows:
    __slots__ = ("changes", "holding", "values_by_key")

    def __init__(self, holding: object) -> None:
        self.holding = holding
        self.changes = 0
        self.values_by_key: dict[Hashable, Any] = {}


class HeldRows:
    """Keeps what is read again and again while a chat is at work, as it was last written. Belongs to the journal's event loop.

    Where several servers share a database each read is a round trip. SQLite needs none of this: there nothing is held, and nothing kept.
    """

    def __init__(self, holding: Callable[[str], object | None] = lambda chat_id: None) -> None:
        """`holding` names how the chat is held: an object of its own from each claim to its release, None while it is not held."""
        self._holding = holding
        self._chats: dict[str, _ChatRows] = {}

    def holds(self, chat_id: str) -> bool:
        return self._holding(chat_id) is not None

    async def read(self, chat_id: str, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Returns what is kept under the key, or what `read` brings. It must not be changed by the caller."""
        rows = self._rows_of(chat_id)
        if rows is None:
            return await read()
        if key not in rows.values_by_key:
            changes = rows.changes
            value = await read()
            if rows.changes != changes:  # it may be older than what was written meanwhile
                return value
            rows.values_by_key.setdefault(key, value)
        return rows.values_by_key[key]  # type: ignore[no-any-return]

    def update(self, chat_id: str, writes: Sequence[Write], *, seq: int, recorded_at: str, step: bool) -> None:
        """Takes over what became durable; `seq` is the number of the change, `step` as in `NumberedChanges`."""
        rows = self._chats.get(chat_id)
        if rows is None:
            return
        rows.changes += 1
        messages = [write for write in writes if type(write) is Message]
        if messages:
            _put_messages(rows.values_by_key, messages, [write for write in writes if type(write) is Turn])
        for write in writes:
            if type(write) is Turn:
                _put_turn(rows.values_by_key, write)
            elif type(write) is JobTask:
                _put_task(rows.values_by_key, write, seq)
            elif type(write) is Call:
                rows.values_by_key.pop(calls_of(write.turn_id), None)
            elif type(write) is Job:
                for key in [key for key in rows.values_by_key if isinstance(key, tuple) and key[0] == "job"]:
                    del rows.values_by_key[key]
            elif type(write) is SetChat:
                _set_chat(rows.values_by_key, write)
            elif type(write) is RemoveChat:
                self.forget(chat_id)
        chat: Chat | None = rows.values_by_key.get(CHAT)
        if chat is not None and not (step and chat.updated_at[:_SECOND] == recorded_at[:_SECOND]):
            rows.values_by_key[CHAT] = replace(chat, updated_at=recorded_at)

    def forget(self, chat_id: str | None = None) -> None:
        """Forgets what is kept of a chat, or of all."""
        if chat_id is None:
            self._chats.clear()
        else:
            self._chats.pop(chat_id, None)

    def _rows_of(self, chat_id: str) -> _ChatRows | None:
        holding = self._holding(chat_id)
        if holding is None:
            return None
        rows = self._chats.get(chat_id)
        if rows is None or rows.holding is not holding:
            if len(self._chats) >= MOST_CHATS:
                self._chats = {id_: rows for id_, rows in self._chats.items() if self._holding(id_) is rows.holding}
            rows = self._chats[chat_id] = _ChatRows(holding)
        return rows


def job_key(job_id: str) -> Hashable:
    return ("job", job_id)


def jobs_in(states: Sequence[object]) -> Hashable:
    return ("job", *states)


def tasks_of(job_id: str) -> Hashable:
    return ("tasks", job_id)


def turns_of(job_id: str) -> Hashable:
    return ("turns", job_id)


def messages_of(turn_id: str | None) -> Hashable:
    return ("messages", turn_id)


def calls_of(turn_id: str) -> Hashable:
    return ("calls", turn_id)


def _set_chat(values: dict[Hashable, Any], write: SetChat) -> None:
    chat: Chat | None = values.get(CHAT)
    if chat is not None and write.state is not None and write == SetChat(write.state):
        values[CHAT] = replace(chat, state=write.state)
    else:
        values.pop(CHAT, None)


def _put_messages(values: dict[Hashable, Any], messages: Sequence[Message], turns: Sequence[Turn]) -> None:
    """Keeps what there is of a turn on a task that begins: its first message was written with it, and there was no call before."""
    for message in messages:
        values.pop(messages_of(message.turn_id), None)
    ids = [message.id for message in messages]
    for turn in turns:
        if turn.task_id is not None and turn.message_id in ids:
            since = messages[ids.index(turn.message_id) :]
            values[calls_of(turn.id)] = []
            values[messages_of(turn.id)] = [message for message in since if message.turn_id == turn.id]


def _put_turn(values: dict[Hashable, Any], turn: Turn) -> None:
    turns_by_task: TurnsByTask | None = values.get(turns_of(turn.job_id or ""))
    if turns_by_task is not None and turn.task_id is not None:
        turns_by_task.setdefault(turn.task_id, {})[turn.id] = turn
    if turn.state not in _OPEN:
        values.pop(calls_of(turn.id), None)
        values.pop(messages_of(turn.id), None)
    turns: dict[str, Turn] | None = values.get(OPEN_TURNS)
    if turns is None:
        return
    if turn.state in _OPEN:
        turns[turn.id] = turn
    else:
        turns.pop(turn.id, None)


def _put_task(values: dict[Hashable, Any], task: JobTask, seq: int) -> None:
    tasks: Tasks | None = values.get(tasks_of(task.job_id))
    if tasks is not None:
        tasks.pop(task.id, None)  # the last change comes last
        tasks[task.id] = (task, seq)
