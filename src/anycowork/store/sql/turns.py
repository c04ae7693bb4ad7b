"""The turns table, and which job and task each running turn belongs to."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from anycowork.domain.chats import ChatConfig, ChatState, EndReason, Turn, TurnState
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, RequireAccess, RequireState, SetChat
from anycowork.domain.messages import Json, Message, QueuedMessage
from anycowork.domain.values import replace
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.held_rows import OPEN_TURNS, HeldRows, TurnsByTask, turns_of
from anycowork.store.sql.row_mapper import (
    JSON_OBJECT,
    ColumnType,
    RowMapper,
    enum_of,
    from_json_text,
    json_of,
    nullable,
)

_ROWS = RowMapper(
    Turn,
    "id, chat_id, role, principal, message_id, plan_id, state, steps, faults, seconds, steps_before, seconds_before,"
    " reason, error, created_at, job_id, task_id, workspace, data_folder, evidence, origins",
    types={
        "role": ColumnType(str, None),
        "state": enum_of(TurnState),
        "reason": nullable(enum_of(EndReason)),
        "error": nullable(JSON_OBJECT),
        "evidence": nullable(JSON_OBJECT),
        "origins": json_of(tuple[str, ...]),
    },
)
_PUT = (
    f"{_ROWS.insert('turns', 'seq')}"
    " ON CONFLICT (id) DO UPDATE SET role = excluded.role, principal = excluded.principal, message_id = excluded.message_id,"
    " plan_id = excluded.plan_id, state = excluded.state, steps = excluded.steps, faults = excluded.faults,"
    " seconds = excluded.seconds, steps_before = excluded.steps_before, seconds_before = excluded.seconds_before,"
    " reason = excluded.reason, error = excluded.error, data_folder = excluded.data_folder,"
    " evidence = excluded.evidence, origins = excluded.origins"
)
# With `ORDER BY +seq` SQLite uses the index by state: the chat's ended turns, of which there may be thousands, are not read.
_OPEN = "state IN ('running', 'parked', 'due')"
Names = tuple[str | None, str | None]
"""A job's id and a task's id."""
Bound = TypeVar("Bound", Message, NewEvent)
_NO_JOB: Names = (None, None)
_REQUIRED = frozenset({RequireState, RequireAccess})
_SAYS_WHO_RUNS = frozenset({Turn, SetChat})
# What a person must do comes first, then what runs.
_ORDER = (ChatState.IDLE, ChatState.RUNNING, ChatState.AWAITING_ANSWER, ChatState.AWAITING_APPROVAL)


class RunningTurnCache:
    """Caches running turns as they were last written, the configurations of their chats, and which chats have no queued message. Belongs
    to the journal's event loop.

    A turn's counters change with every step but reach the disk only when it pauses or ends: after a crash a running turn is over. A chat's
    configuration is needed before every call; it is read once and dropped whenever the chat's row changes. The queue is looked at before
    every step, and is nearly always empty.
    """

    def __init__(self) -> None:
        self._turns: dict[str, Turn] = {}
        self._configs: dict[str, ChatConfig] = {}
        self._without_queue: set[str] = set()
        self._queue_changes = 0

    def update(self, turn: Turn) -> None:
        if turn.state is TurnState.RUNNING:
            self._turns[turn.id] = turn
        else:
            self._turns.pop(turn.id, None)

    def current_state(self, stored: Turn) -> Turn:
        return self._turns.get(stored.id, stored) if stored.state is TurnState.RUNNING else stored

    def config_of(self, chat_id: str) -> ChatConfig | None:
        return self._configs.get(chat_id)

    def remember_config(self, chat_id: str, config: ChatConfig) -> None:
        self._configs[chat_id] = config

    def forget_config(self, chat_id: str) -> None:
        self._configs.pop(chat_id, None)

    async def queue_of(self, chat_id: str, read: Callable[[], Awaitable[list[QueuedMessage]]]) -> list[QueuedMessage]:
        """Returns the chat's queued messages; they are read unless the queue is known to be empty."""
        if chat_id in self._without_queue:
            return []
        changes = self._queue_changes
        queued = await read()
        if not queued and changes == self._queue_changes:  # otherwise a message was queued meanwhile, perhaps here
            self._without_queue.add(chat_id)
        return queued

    def forget_queue(self, chat_id: str) -> None:
        self._queue_changes += 1
        self._without_queue.discard(chat_id)

    def forget(self, chat_id: str) -> None:
        self.forget_queue(chat_id)
        self._turns = {id_: turn for id_, turn in self._turns.items() if turn.chat_id != chat_id}
        self.forget_config(chat_id)


def goes_on(before: Turn, turn: Turn) -> bool:
    """Tells whether the turn runs and only its counters changed."""
    return turn.state is TurnState.RUNNING and (
        (turn.state, turn.role, turn.principal, turn.message_id, turn.plan_id, turn.reason, turn.error)
        == (before.state, before.role, before.principal, before.message_id, before.plan_id, before.reason, before.error)
    )


Put = tuple[Turn, int]
"""A turn, and the number of the change that began it."""


def put(connection: SqlConnection, puts: Iterable[Put]) -> None:
    """Writes turns, each once."""
    connection.write_later(_PUT, [_ROWS.row(turn, seq) for turn, seq in puts], apart=True)


class TurnTable(Table):
    """Reads turns, those that run with their current counters."""

    def __init__(self, reader: SqlReader, running: RunningTurnCache, held_rows: HeldRows) -> None:
        super().__init__(reader)
        self._running, self._held_rows = running, held_rows

    async def find(self, turn_id: str) -> Turn | None:
        return await self._first("id = ?", turn_id)

    async def in_states(self, *states: TurnState) -> list[Turn]:
        return await self._all(f"state IN ({', '.join('?' for _ in states)}) ORDER BY chat_id, seq", *states)

    async def current(self, chat_id: str) -> Turn | None:
        """Returns the chat's newest turn that has not ended."""
        return await self._first(f"{_OPEN} AND chat_id = ? ORDER BY +seq DESC LIMIT 1", chat_id)

    async def all_current(self, chat_id: str) -> list[Turn]:
        """Returns every turn of the chat that has not ended, oldest first: several if tasks of a job run side by side."""

        async def read() -> dict[str, Turn]:
            return {turn.id: turn for turn in await self._all(f"{_OPEN} AND chat_id = ? ORDER BY +seq", chat_id)}

        return sorted(
            (await self._held_rows.read(chat_id, OPEN_TURNS, read)).values(), key=lambda turn: turn.created_at
        )

    async def newest(self, chat_id: str) -> Turn | None:
        """Returns the chat's last turn, ended or not."""
        return await self._first("chat_id = ? ORDER BY seq DESC LIMIT 1", chat_id)

    async def newest_of(self, chat_ids: Sequence[str]) -> dict[str, Turn]:
        """Returns the last turn of each of these chats that has one, by the chat's id."""
        if not chat_ids:
            return {}  # PostgreSQL refuses an empty list
        newest = "seq = (SELECT MAX(seq) FROM turns AS later WHERE later.chat_id = turns.chat_id)"
        turns = await self._all(f"chat_id IN ({', '.join('?' for _ in chat_ids)}) AND {newest}", *chat_ids)
        return {turn.chat_id: turn for turn in turns}

    async def of_job(self, job_id: str, task_id: str | None) -> list[Turn]:
        """Returns those that worked on the task, or, without one, that planned or closed the job; oldest first."""
        if task_id is None:
            return await self._all("job_id = ? AND task_id IS NULL ORDER BY seq", job_id)
        return await self._all("job_id = ? AND task_id = ? ORDER BY seq", job_id, task_id)

    async def of_task(self, turn: Turn) -> list[Turn]:
        """Returns the turns that worked on the task of this one, which is among them; oldest first."""
        job_id, task_id = turn.job_id or "", turn.task_id or ""
        if not self._held_rows.holds(turn.chat_id):
            return await self.of_job(job_id, task_id)
        read = partial(self._by_task, job_id)
        turns_by_task = await self._held_rows.read(turn.chat_id, turns_of(job_id), read)
        return list(turns_by_task.get(task_id, {}).values())

    async def _by_task(self, job_id: str) -> TurnsByTask:
        turns_by_task: TurnsByTask = {}
        for turn in await self._all("job_id = ? AND task_id IS NOT NULL ORDER BY seq", job_id):
            turns_by_task.setdefault(turn.task_id or "", {})[turn.id] = turn
        return turns_by_task

    async def of_plan(self, chat_id: str, plan_id: str) -> list[Turn]:
        """Returns the chat's own turns that carried out this plan, oldest first."""
        return await self._all("chat_id = ? AND plan_id = ? AND job_id IS NULL ORDER BY seq", chat_id, plan_id)

    @query
    def evidence(connection: SqlConnection, chat_id: str) -> list[tuple[str, Json]]:
        """Returns each turn of the chat that has evidence, oldest first, with the evidence."""
        rows = connection.execute(
            "SELECT id, evidence FROM turns WHERE chat_id = ? AND evidence IS NOT NULL ORDER BY seq", (chat_id,)
        )
        return [(turn_id, from_json_text(evidence)) for turn_id, evidence in rows]

    async def _first(self, where: str, *values: str) -> Turn | None:
        turns = await self._reader.read(_select, where, values)
        return self._running.current_state(turns[0]) if turns else None

    async def _all(self, where: str, *values: str) -> list[Turn]:
        return [self._running.current_state(turn) for turn in await self._reader.read(_select, where, values)]


def _select(connection: SqlConnection, where: str, values: Sequence[str]) -> list[Turn]:
    return [_ROWS.value(row) for row in connection.execute(f"SELECT {_ROWS.columns} FROM turns WHERE {where}", values)]


def task_states(connection: SqlConnection, chat_id: str | None = None) -> list[tuple[str, str, bool, bool]]:
    """Returns each turn on a task that has not ended: its chat, its id, whether it waits for a person, and whether for an answer."""
    only, values = ("", ()) if chat_id is None else (" AND chat_id = ?", (chat_id,))
    rows = connection.execute(
        "SELECT chat_id, id, state = 'parked',"
        " EXISTS (SELECT 1 FROM questions WHERE chat_id = turns.chat_id AND turn_id = turns.id AND questions.state = 'open')"
        f" FROM turns WHERE {_OPEN} AND task_id IS NOT NULL{only}",
        values,
    )
    return [(chat_id, id_, bool(parked), bool(asks)) for chat_id, id_, parked, asks in rows]


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
        """Returns the message or event with the job and task of its turn."""
        job_id, task_id = self.names_of(noun.turn_id or "")
        return noun if job_id is None or noun.job_id is not None else replace(noun, job_id=job_id, task_id=task_id)

    def bound(self, change: Change) -> Change:
        """Returns the change as it is written: each message and event of a job's turn names job and task, and the
        chat's state is the one that the most urgent of its turns needs."""
        if not self._names and _SAYS_WHO_RUNS.isdisjoint(map(type, change.writes)):  # as for most steps
            return change
        turns = [write for write in change.writes if type(write) is Turn]
        for turn in turns:
            if turn.job_id is not None:
                self._names[turn.id] = turn.job_id, turn.task_id
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
        new_states = [w.state for w in change.writes if type(w) is SetChat and w.state is not None]
        new_state = new_states[-1] if new_states else None
        states = self._states.setdefault(change.chat_id, {})
        for turn in turns:
            if turn.state is TurnState.ENDED or (turn.job_id is None and turn.state is TurnState.PARKED):
                states.pop(turn.id, None)
            elif turn.job_id is None:  # the chat's own turn, which may wait for a job that it asked for
                if states.get(turn.id) is not ChatState.RUNNING and not _may_fail(change):
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


def _may_fail(change: Change) -> bool:
    """Tells whether it is written only if something holds: then its turn may never begin."""
    return not _REQUIRED.isdisjoint(map(type, change.writes))


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
