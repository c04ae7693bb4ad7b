"""Refuses the writes of a process that was stopped, or cut off, while another one took over its chats.

A process that takes a chat writes its id into the chat's row of `chat_holders`. Each write to a chat that this process holds looks there, in its
own transaction, and keeps the row until it is durable: nobody takes the chat between the look and the commit.
"""

from collections.abc import Callable, Iterable

from anycowork.domain.errors import TakenOver
from anycowork.store.sql.connection import SqlConnection

# What is lost of it in a crash of the database is only a claim that nothing was written under, so nobody waits for the disk.
CLAIM = """
WITH taken AS MATERIALIZED (
  SELECT pg_try_advisory_lock(hashtextextended($1 || ' ' || current_schema(), 0)) AS ok, set_config('synchronous_commit', 'off', true)
), held AS (
  INSERT INTO chat_holders (chat_id, peer_id) SELECT c.id, $3 FROM taken, chats c WHERE taken.ok AND c.id = $2
  ON CONFLICT (chat_id) DO UPDATE SET peer_id = excluded.peer_id WHERE chat_holders.peer_id <> excluded.peer_id
)
SELECT ok FROM taken
"""
HELD_BY_OTHERS = "SELECT chat_id FROM chat_holders WHERE chat_id = ANY($1) AND peer_id <> $2"
_HOLDERS = "SELECT chat_id, peer_id FROM chat_holders WHERE chat_id = ANY(CAST(? AS TEXT[])) FOR SHARE"


class ChatFence:
    """`held` are the chats that this process believes to hold; only the event loop changes it. `taken_over` is called on any thread."""

    def __init__(self, peer_id: str, taken_over: Callable[[], None]) -> None:
        self.held: set[str] = set()
        self.is_taken_over = False
        self._peer_id = peer_id
        self._taken_over = taken_over

    def check(self, connection: SqlConnection, chat_ids: Iterable[str]) -> None:
        """Raises: TakenOver if another process has taken one of the chats since. From then on every write is refused."""
        if not self.is_taken_over:
            mine = [chat_id for chat_id in chat_ids if chat_id in self.held]
            rows = connection.execute(_HOLDERS, (mine,)).fetchall() if mine else []
            if all(peer_id == self._peer_id for _, peer_id in rows):
                return
        raise self.give_up()

    def give_up(self) -> TakenOver:
        """Refuses every write from now on. Returns why."""
        self.is_taken_over = True
        self._taken_over()
        return TakenOver(
            "Another process took over the chats of this one while it did not answer. Nothing of this was kept. This one drops what it"
            " had begun and joins again; try again in a few seconds."
        )
