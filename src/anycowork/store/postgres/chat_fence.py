"""Refuses the writes of a process that was stopped, or cut off, while another one took over its chats.

A process that takes a chat writes its id into the chat's row of `chat_holders`. Each write to a chat that this process holds looks there, in its
own transaction, and keeps the row until it is durable: nobody takes the chat between the look and the commit.
"""

from collections.abc import Callable, Sequence

from anycowork.domain.errors import TakenOver
from anycowork.store.postgres.connection import PostgresConnection
from anycowork.store.postgres.dialect import MARK_POSITION
from anycowork.store.postgres.peer_table import holder_of
from anycowork.store.sql.connection import SqlConnection

# Another process that lives has what the chat needs to go on: the layers of its job, or the held changes of a command.
KEPT_ELSEWHERE = f"""
FROM peers p WHERE p.data_folder IN (
  SELECT j.data_folder FROM jobs j WHERE j.chat_id = $2 AND j.data_folder IS NOT NULL
  UNION ALL
  SELECT t.data_folder FROM turns t WHERE t.chat_id = $2 AND t.data_folder IS NOT NULL AND t.state IN ('parked', 'due')
) AND p.id <> $3 AND p.data_folder <> $4 AND EXISTS (SELECT 1 FROM {holder_of("'anycowork server ' || p.id")})
"""
KEPT = f"SELECT p.id, CAST($1 AS TEXT) {KEPT_ELSEWHERE} ORDER BY p.id LIMIT 1"
# What is lost of it in a crash of the database is only a claim that nothing was written under, so nobody waits for the disk.
CLAIM = f"""
WITH free AS MATERIALIZED (
  SELECT NOT EXISTS (SELECT 1 {KEPT_ELSEWHERE}) AS ok
), taken AS MATERIALIZED (
  SELECT CASE WHEN free.ok THEN pg_try_advisory_lock(hashtextextended($1 || ' ' || current_schema(), 0)) ELSE false END AS ok,
    set_config('synchronous_commit', 'off', true) FROM free
), held AS (
  INSERT INTO chat_holders (chat_id, peer_id) SELECT c.id, $3 FROM taken, chats c WHERE taken.ok AND c.id = $2
  ON CONFLICT (chat_id) DO UPDATE SET peer_id = excluded.peer_id WHERE chat_holders.peer_id <> excluded.peer_id
)
SELECT ok FROM taken
"""
HELD_BY_OTHERS = "SELECT chat_id FROM chat_holders WHERE chat_id = ANY($1) AND peer_id <> $2"
# Everything that a transaction needs before it writes to chats, in one round trip. The rows are locked in the order of their ids.
_LOCK_CHATS = f"""
WITH {MARK_POSITION}, locked AS MATERIALIZED (
  SELECT id, chain FROM chats WHERE id = ANY(CAST($1 AS TEXT[])) ORDER BY id FOR NO KEY UPDATE
), holders AS MATERIALIZED (
  SELECT peer_id FROM chat_holders WHERE chat_id = ANY(CAST($2 AS TEXT[])) FOR SHARE
)
SELECT CAST(pg_current_xact_id() AS TEXT), ARRAY(SELECT id FROM locked), ARRAY(SELECT chain FROM locked),
  ARRAY(
    SELECT nextval('record_positions') FROM (SELECT COUNT(*) FROM marked) AS marks, (SELECT COUNT(*) FROM locked) AS locks,
    generate_series(1, CAST($3 AS INTEGER))
  ),
  (SELECT COUNT(*) FROM holders WHERE peer_id <> $4)
"""


class ChatFence:
    """`held` are the chats that this process believes to hold, each with an object of its own from claim to release; only the event loop
    changes it. `taken_over` is called on any thread."""

    def __init__(self, peer_id: str, taken_over: Callable[[], None]) -> None:
        self.held: dict[str, object] = {}
        self.is_taken_over = False
        self._peer_id = peer_id
        self._taken_over = taken_over

    def lock(
        self, connection: SqlConnection, chat_ids: Sequence[str], count: int
    ) -> tuple[dict[str, str], Sequence[int]]:
        """Locks the rows of the chats until the transaction ends. Returns the ends of their chains, and so many positions of records.

        Raises: TakenOver if another process has taken one of the chats since. From then on every write is refused.
        """
        assert isinstance(connection, PostgresConnection)
        if self.is_taken_over:
            raise self.give_up()
        mine = [chat_id for chat_id in chat_ids if chat_id in self.held]
        connection.transaction_id, ids, chains, positions, lost = connection.execute(
            _LOCK_CHATS, (chat_ids, mine, count, self._peer_id)
        ).fetchone()
        if lost:
            raise self.give_up()
        return dict(zip(ids, chains, strict=True)), positions

    def give_up(self) -> TakenOver:
        """Refuses every write from now on. Returns why."""
        self.is_taken_over = True
        self._taken_over()
        return TakenOver(
            "Another process took over the chats of this one while it did not answer. Nothing of this was kept. This one drops what it"
            " had begun and joins again; try again in a few seconds."
        )
