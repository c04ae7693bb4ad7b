"""A long chat, written straight into the server's journal: thousands of messages would take a model hours."""

from collections.abc import Iterator

from anycowork.app import RunningServer
from anycowork.domain.journal import Change
from anycowork.domain.messages import Message, Speaker
from anycowork.server.clock import SystemClock

_CLOCK = SystemClock()
_AT_ONCE = 500
_ANSWER = """Number {number}: the report is written as **JSON** now.

1. `config.toml` names the format.
2. `station/report.py` writes one object per hour.

{more}"""
_MORE = ("It was a small change.", "```python\nvalue = {number}\n```", "| a | b |\n|---|---|\n| {number} | 2 |", "")


async def fill(server: RunningServer, chat_id: str, count: int) -> list[str]:
    """So many messages, a person's and an agent's in turn. Their ids, oldest first."""
    ids: list[str] = []
    for start in range(0, count, _AT_ONCE):
        messages = tuple(_messages(chat_id, range(start, min(start + _AT_ONCE, count))))
        await server.database.journal.write(Change(chat_id, messages))
        ids += [message.id for message in messages]
    return ids


def _messages(chat_id: str, numbers: range) -> Iterator[Message]:
    for number in numbers:
        asks = number % 2 == 0
        text = f"Question {number}" if asks else _answer(number)
        yield Message(
            _CLOCK.new_id(),
            chat_id,
            Speaker.USER if asks else Speaker.ASSISTANT,
            text,
            agent_role=None if asks else "actor",
            turn_id=_CLOCK.new_id(),
            created_at=_CLOCK.now(),
        )


def _answer(number: int) -> str:
    return _ANSWER.format(number=number, more=_MORE[number // 2 % len(_MORE)].format(number=number))
