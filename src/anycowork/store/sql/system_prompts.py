"""The system prompts table: prompts that people wrote. It does not hold the built-in prompt."""

from functools import partial

from anycowork.domain.errors import NotFound
from anycowork.domain.ports import Clock
from anycowork.domain.system_prompts import SystemPrompt
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.writer import Writer

_FIELDS = "id, name, content, version, created_at, updated_at"


class SystemPrompts:
    """Stores the system prompts of users, not the built-in one. Writes return when they are durable."""

    def __init__(self, reader: SqlReader, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def all(self) -> list[SystemPrompt]:
        """Oldest first."""
        return await self._reader.read(_all)

    async def find(self, prompt_id: str) -> SystemPrompt | None:
        return await self._reader.read(_find, prompt_id)

    async def add(self, *, name: str, content: str) -> SystemPrompt:
        now = self._clock.now()
        prompt = SystemPrompt(self._clock.new_id(), name, content, created_at=now, updated_at=now)
        await self._writer.run(partial(_add, prompt=prompt))
        return prompt

    async def change(self, prompt_id: str, *, name: str, content: str) -> SystemPrompt:
        """Raises: NotFound."""
        return await self._writer.run(
            partial(_change, prompt_id=prompt_id, name=name, content=content, now=self._clock.now())
        )

    async def remove(self, prompt_id: str) -> None:
        """Raises: NotFound."""
        await self._writer.run(partial(_remove, prompt_id=prompt_id))


def _all(connection: SqlConnection) -> list[SystemPrompt]:
    return [SystemPrompt(*row) for row in connection.execute(f"SELECT {_FIELDS} FROM system_prompts ORDER BY id")]


def _find(connection: SqlConnection, prompt_id: str) -> SystemPrompt | None:
    row = connection.execute(f"SELECT {_FIELDS} FROM system_prompts WHERE id = ?", (prompt_id,)).fetchone()
    return None if row is None else SystemPrompt(*row)


def _add(connection: SqlConnection, prompt: SystemPrompt) -> None:
    connection.execute(
        f"INSERT INTO system_prompts ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?)",
        (prompt.id, prompt.name, prompt.content, prompt.version, prompt.created_at, prompt.updated_at),
    )


def _change(connection: SqlConnection, prompt_id: str, name: str, content: str, now: str) -> SystemPrompt:
    connection.execute(
        "UPDATE system_prompts SET name = ?, content = ?, version = version + 1, updated_at = ? WHERE id = ?",
        (name, content, now, prompt_id),
    )
    changed = _find(connection, prompt_id)
    if changed is None:
        raise NotFound("system prompt", prompt_id)
    return changed


def _remove(connection: SqlConnection, prompt_id: str) -> None:
    if connection.execute("DELETE FROM system_prompts WHERE id = ?", (prompt_id,)).rowcount != 1:
        raise NotFound("system prompt", prompt_id)
