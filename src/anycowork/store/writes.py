"""Each thing that a Change may hold, as its statements."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from anycowork.domain.approvals import Approval, PlanRow, QuestionRow
from anycowork.domain.chats import Turn
from anycowork.domain.errors import NotFound
from anycowork.domain.events import Record
from anycowork.domain.journal import (
    AddChat,
    ApprovePlan,
    Change,
    Compact,
    DecideApproval,
    RemoveChat,
    RequireLease,
    RequireState,
    Reserve,
    SetChat,
    SettleQuestion,
    Spend,
    Write,
)
from anycowork.domain.messages import Message
from anycowork.domain.rules import Rule
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call
from anycowork.store import (
    answers,
    approvals,
    calls,
    chats,
    messages,
    records,
    rules,
    snapshots,
    turns,
    usage,
    workspaces,
)
from anycowork.store.records import Entry

Connection = sqlite3.Connection


@dataclass(frozen=True, slots=True)
class Numbered:
    """A change with its numbers given out and its bodies encoded. `bodies` are the messages' wire bodies, in order."""

    change: Change
    entries: tuple[Entry, ...]
    bodies: tuple[bytes, ...]
    first_seq: int
    next_seq: int
    at: str


def commit(connection: Connection, numbered: Numbered) -> list[Record]:
    """Writes the whole change; returns its records with their positions.

    Raises: the error of an unmet requirement; NotFound if there is no such chat.
    """
    chat_id = numbered.change.chat_id
    said = iter(zip(numbered.entries, numbered.bodies, strict=False))
    for ordinal, write in enumerate(numbered.change.writes):
        if isinstance(write, Message):
            _add_message(connection, write, said)
        else:
            _apply(connection, numbered, write, ordinal)
    chain = chats.chain(connection, chat_id)
    if chain is None:
        return _of_no_chat(numbered.change)
    placed, chain = records.append(connection, numbered.entries, chain=chain)
    chats.advance(connection, chat_id, next_seq=numbered.next_seq, chain=chain, at=numbered.at)
    return placed


def _add_message(connection: Connection, message: Message, said: Iterator[tuple[Entry, bytes]]) -> None:
    entry, body = next(said)
    messages.add(connection, message, seq=entry.record.seq, body=body)


def _of_no_chat(change: Change) -> list[Record]:
    if any(isinstance(write, RemoveChat) for write in change.writes):
        return []
    raise NotFound("chat", change.chat_id)


def _apply(connection: Connection, numbered: Numbered, write: Write, ordinal: int) -> None:  # noqa: C901 — one line per kind
    chat_id, seq = numbered.change.chat_id, numbered.first_seq
    match write:
        case AddChat():
            chats.add(connection, write)
        case SetChat():
            chats.set_fields(connection, chat_id, write)
        case RemoveChat():
            chats.remove(connection, chat_id)
        case Turn():
            turns.put(connection, write, seq=seq)
        case Call():
            calls.put(connection, write, seq=seq)
        case Approval():
            approvals.add(connection, write, seq=seq, ordinal=ordinal)
        case DecideApproval():
            approvals.decide(connection, chat_id, write)
        case Rule():
            rules.add(connection, write)
        case QuestionRow():
            answers.add_question(connection, write)
        case SettleQuestion():
            answers.settle_question(connection, chat_id, write)
        case PlanRow():
            answers.add_plan(connection, write)
        case ApprovePlan():
            answers.approve_plan(connection, chat_id, write)
        case Reserve():
            usage.reserve(connection, chat_id, write)
        case Spend():
            usage.spend(connection, write)
        case Compact():
            records.compact(connection, chat_id, write.message_id)
        case Snapshot():
            snapshots.add(connection, write)
        case RequireState():
            chats.require_state(connection, chat_id, write)
        case RequireLease():
            workspaces.require_lease(connection, write)
        case Message():
            raise AssertionError("messages are written with their numbers")
        case _:
            assert_never(write)
