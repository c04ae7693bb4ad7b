"""The calls table: each call's authority when it was issued, what it was about to do, and its result."""

from collections.abc import Sequence
from functools import lru_cache, partial

import msgspec
from pydantic import JsonValue

from anycowork.domain.chats import Turn
from anycowork.domain.messages import Json
from anycowork.domain.origins import read_origins
from anycowork.domain.ports import PastCall
from anycowork.domain.roles import Permission
from anycowork.domain.tools import (
    Call,
    CallError,
    CallState,
    CallStatus,
    HeldChanges,
    Intent,
    PathIntent,
    Provenance,
    ToolResult,
)
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, large_query, query
from anycowork.store.sql.held_rows import HeldRows, calls_of
from anycowork.store.sql.row_mapper import (
    BOOLEAN,
    JSON_OBJECT,
    ColumnType,
    RowMapper,
    enum_of,
    from_json_text,
    nullable,
    to_json_text,
    to_json_text_or_null,
)


class _StoredStatus(msgspec.Struct):
    status: str = ""


_status_of = msgspec.json.Decoder(_StoredStatus)


@lru_cache(maxsize=64)
def _ceiling_text(ceiling: frozenset[Permission]) -> str:
    return to_json_text(sorted(ceiling))


@lru_cache(maxsize=8)
def _provenance_text(provenance: Provenance) -> str:
    return to_json_text(provenance)


_ROWS = RowMapper(
    Call,
    "id, chat_id, turn_id, batch_id, ordinal, tool, parameters, terminate, role_at_issue, ceiling, provenance, plan_step, state, intent, result",
    types={
        "parameters": JSON_OBJECT,
        "terminate": BOOLEAN,
        "role_at_issue": ColumnType(str, None),  # SQLite is slower with an enum type
        "ceiling": ColumnType(_ceiling_text, msgspec.json.Decoder(frozenset[Permission]).decode),
        "provenance": ColumnType(_provenance_text, msgspec.json.Decoder(Provenance).decode),
        "state": enum_of(CallState),
        "intent": nullable(ColumnType(to_json_text, lambda text: _intent(from_json_text(text)))),
        "result": nullable(ColumnType(to_json_text, lambda text: _result(from_json_text(text)))),
    },
)
_ADD = (
    f"{_ROWS.insert('calls', 'seq')}"
    " ON CONFLICT (id) DO UPDATE SET state = excluded.state, intent = excluded.intent, result = excluded.result, plan_step = excluded.plan_step"
)
_ACTED = (CallStatus.OK, CallStatus.ERROR)  # a command that fails commits what it changed
_CHANGE = "UPDATE calls SET state = ?, intent = ?, result = ?, plan_step = ? WHERE id = ?"

Put = tuple[Call, int]
"""A call in its current state, and the number of the change that set it."""


def put(connection: SqlConnection, puts: Sequence[Put]) -> None:
    """Writes calls. The authority at issue never changes; only the call's progress does."""
    # A call is first written when it is issued. Later writes usually find its row, and only update what can change.
    new: dict[str, Put] = {}
    later: dict[str, Put] = {}
    for call, seq in puts:
        if call.id in new:
            new[call.id] = call, new[call.id][1]  # issued in this same group: one row is enough
        elif call.state is CallState.ISSUED:
            new[call.id] = call, seq
        else:
            later[call.id] = call, seq
    if connection.dialect.merges_writes:
        connection.write_later(_ADD, (_ROWS.row(*entry) for entry in {**later, **new}.values()), apart=True)
        return
    if new:
        connection.write_later(_ADD, (_ROWS.row(*entry) for entry in new.values()))
    if later and connection.executemany(_CHANGE, map(_changed, later.values())).rowcount != len(later):
        connection.executemany(_ADD, (_ROWS.row(*entry) for entry in later.values()))


def _changed(entry: Put) -> tuple[str | None, ...]:
    call = entry[0]
    return (
        call.state.value,
        to_json_text_or_null(call.intent),
        to_json_text_or_null(call.result),
        call.plan_step,
        call.id,
    )


def remove_of_chat(connection: SqlConnection, chat_id: str) -> None:
    """Deletes the chat's calls. Call it before its turns are deleted."""
    connection.execute("DELETE FROM calls WHERE turn_id IN (SELECT id FROM turns WHERE chat_id = ?)", (chat_id,))


class CallTable(Table):
    """Reads calls."""

    def __init__(self, reader: SqlReader, held_rows: HeldRows) -> None:
        super().__init__(reader)
        self._held_rows = held_rows

    async def of(self, turn: Turn) -> list[Call]:
        """Returns the turn's calls in the order in which they were issued; from memory while its chat is held here."""
        return list(await self._held_rows.read(turn.chat_id, calls_of(turn.id), partial(self.of_turn, turn.id)))

    @query
    def of_turn(connection: SqlConnection, turn_id: str) -> list[Call]:
        """Returns the turn's calls in the order in which they were issued."""
        rows = connection.execute(
            f"SELECT {_ROWS.columns} FROM calls WHERE turn_id = ? ORDER BY seq, ordinal", (turn_id,)
        )
        return [_ROWS.value(row) for row in rows]

    @large_query
    def finished_intents(connection: SqlConnection, chat_id: str) -> list[Intent]:
        """Returns what the chat's calls did to files, oldest first, without calls that were denied, refused or not finished."""
        rows = connection.execute(
            "SELECT intent, result FROM calls WHERE turn_id IN (SELECT id FROM turns WHERE chat_id = ?)"
            " AND intent IS NOT NULL AND result IS NOT NULL ORDER BY seq, ordinal",
            (chat_id,),
        )
        done = (intent for intent, result in rows if _status_of.decode(result).status in _ACTED)
        return [_intent(from_json_text(intent)) for intent in done]

    @query
    def past(
        connection: SqlConnection, *, chat_id: str | None = None, workspace: str | None = None, limit: int
    ) -> list[PastCall]:
        """Returns past calls, newest first, each with the resource of its approval."""
        fields = ", ".join(f"calls.{name}" for name in _ROWS.columns.split(", "))
        of_chat = "" if chat_id is None else " AND calls.turn_id IN (SELECT id FROM turns WHERE chat_id = ?)"
        in_workspace = "" if workspace is None else " AND chats.workspace = ?"
        rows = connection.execute(
            f"SELECT chats.workspace, (SELECT approvals.resource FROM approvals WHERE approvals.tool_call_id = calls.id LIMIT 1), {fields}"
            f" FROM calls JOIN chats ON chats.id = calls.chat_id WHERE 1 = 1{of_chat}{in_workspace} ORDER BY calls.id DESC LIMIT ?",
            (*(value for value in (chat_id, workspace) if value is not None), limit),
        )
        return [PastCall(_ROWS.value(row[2:]), workspace=row[0], resource=row[1]) for row in rows]


def _intent(stored: Json) -> Intent:
    paths = msgspec.convert(stored["paths"], tuple[PathIntent, ...])
    return Intent(
        paths=paths,
        command=msgspec.convert(stored["command"], str | None),
        contained=stored.get("contained") is True,
        staged=msgspec.convert(stored.get("staged"), str | None),
        held=_held(stored.get("held")),
    )


def _held(stored: JsonValue) -> HeldChanges | None:
    if not isinstance(stored, dict) or not isinstance(stored["result"], dict):
        return None
    return HeldChanges(
        why=msgspec.convert(stored["why"], tuple[str, ...]),
        diff=msgspec.convert(stored["diff"], str | None),
        result=_result(stored["result"]),
        every_time=stored.get("every_time") is True,
        beneath=str(stored.get("beneath", "")),
    )


def _result(stored: Json) -> ToolResult:
    facts = stored["facts"]
    return ToolResult(
        status=CallStatus(str(stored["status"])),
        content=str(stored["content"]),
        error=msgspec.convert(stored["error"], CallError | None),
        diff=msgspec.convert(stored["diff"], str | None),
        facts=facts if isinstance(facts, dict) else {},
        origins=read_origins(stored.get("origins")),
    )
