"""Collects the rows of a group of changes. The writer writes them together."""

from collections.abc import Sequence

from anycowork.domain.chats import ChatState
from anycowork.domain.journal import Reserve, SetChat, Spend, Write
from anycowork.domain.values import value
from anycowork.store.sql import calls, chats, jobs, messages, records, turns, usage
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.envelopes import RecordRow

ChainState = tuple[str, int]
"""The end of a chat's chain, and its next free number."""


@value
class NumberedChanges:
    """Changes that are written together. They are numbered and their records encoded; `messages` gives the position of each message."""

    chat_id: str
    writes: tuple[Write, ...]
    entries: tuple[RecordRow, ...]
    messages: tuple[messages.Row, ...]
    first_seq: int
    next_seq: int
    recorded_at: str
    step: bool = False
    """True for steps of an agent's turn: these update `updated_at` once a second, all other changes at once."""


class RowBatch:
    """Collects the rows of a group of changes and writes them together at its end."""

    __slots__ = (
        "_ends",
        "_locked",
        "_positions",
        "_taken",
        "calls",
        "messages",
        "records",
        "reserved",
        "states",
        "tasks",
        "turns",
        "usage",
    )

    def __init__(self, positions: Sequence[int], *, locked: bool = False) -> None:
        """`locked`: the transaction holds the rows of its chats, so that nobody else has changed them."""
        self._positions = positions
        self._taken = 0
        self._locked = locked
        self.reserved: list[Reserve] = []
        """All that were written, to be checked once they are."""
        self._clear()

    @property
    def ends(self) -> dict[str, ChainState]:
        """How the chats are left by what was appended."""
        return {chat_id: (end.chain, end.next_seq) for chat_id, end in self._ends.items()}

    def take_positions(self, count: int) -> Sequence[int]:
        self._taken += count
        return self._positions[self._taken - count : self._taken]

    def _clear(self) -> None:
        self.turns: dict[str, turns.Put] = {}
        self.records: list[records.Row] = []
        self.messages: list[messages.Row] = []
        self.calls: list[calls.Put] = []
        self.usage: list[usage.Put] = []
        self.tasks: list[jobs.TaskPut] = []
        self.states: dict[str, ChatState] = {}
        self._ends: dict[str, chats.ChatEnd] = {}

    def takes(self, chat_id: str, write: SetChat) -> bool:
        """Tells whether the write only gives a locked chat another state. It is then written with the end of its chain."""
        if not self._locked or write.state is None:
            return False
        if write != SetChat(state=write.state):
            self.states.pop(chat_id, None)
            return False
        self.states[chat_id] = write.state
        return True

    def add_usage(self, chat_id: str, write: Reserve | Spend) -> None:
        self.usage.append((chat_id, write))
        if type(write) is Reserve:
            self.reserved.append(write)

    def append(self, numbered: NumberedChanges, positions: Sequence[int], chain: str, updated_at: str | None) -> str:
        """Adds the records and returns the new end of the chain."""
        chat_id = numbered.chat_id
        rows, end = records.chained(numbered.entries, positions=positions, chain=chain)
        self.records += rows
        earlier = self._ends.get(chat_id)
        if earlier is not None:
            chain, updated_at = earlier.before, updated_at or earlier.updated_at
        self._ends[chat_id] = chats.ChatEnd(numbered.next_seq, end, updated_at, chat_id, chain)
        return end

    def flush(self, connection: SqlConnection) -> None:
        if self.turns:
            turns.put(connection, self.turns.values())
        if self.messages:
            messages.insert(connection, self.messages)
        if self.calls:
            calls.put(connection, self.calls)
        if self.usage:
            usage.put(connection, self.usage)
        if self.tasks:
            jobs.put_tasks(connection, self.tasks)
        records.insert(connection, self.records)
        if self._locked:
            chats.advance_locked(connection, self._ends.values(), self.states)
        else:
            chats.advance(connection, self._ends.values())
        self._clear()
