"""Refuses the writes of a process that was stopped, or cut off, while another one took over its chats.

A process that takes a chat writes its id into the chat's row of `chat_holders`. Each write to a chat that this process holds looks there, in its
own transaction, and keeps the row until it is durable: nobody takes the chat between the look and the commit.
"""

from collections.abc import Callable, Mapping, Sequence

from anycowork.domain.errors import TakenOver
from anycowork.store.postgres.connection import PostgresConnection
from anycowork.store.postgres.dialect import MARK_POSITION
from anycowork.store.postgres.peer_table import is_held
from anycowork.store.postgres.pending_writes import TakenPositions, WriteGuard
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.row_batch import ChainState

# Another process that lives has what the chat needs to go on: the layers of its job, or the held changes of a command.
KEPT_ELSEWHERE = f"""
FROM peers p WHERE p.data_folder IN (
  SELECT j.data_folder FROM jobs j WHERE j.chat_id = $2 AND j.data_folder IS NOT NULL
  UNION ALL
  SELECT t.data_folder FROM turns t WHERE t.chat_id = $2 AND t.data_folder IS NOT NULL AND t.state IN ('parked', 'due')
) AND p.id <> $3 AND p.data_folder <> $4 AND {is_held("'anycowork server ' || p.id")}
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
_LOCKED = f"""{MARK_POSITION}, locked AS MATERIALIZED (
  SELECT id, chain, next_seq FROM chats WHERE id = ANY(CAST($1 AS TEXT[])) ORDER BY id FOR NO KEY UPDATE
), holders AS MATERIALIZED (
  SELECT peer_id FROM chat_holders WHERE chat_id = ANY(CAST($2 AS TEXT[])) FOR SHARE
)"""
_OTHERS = "(SELECT COUNT(*) FROM holders WHERE peer_id <> $4)"
_LOCK_CHATS = f"""
WITH {_LOCKED}
SELECT CAST(pg_current_xact_id() AS TEXT), ARRAY(SELECT id FROM locked), ARRAY(SELECT chain FROM locked),
  ARRAY(SELECT next_seq FROM locked), ARRAY(
    SELECT nextval('record_positions') FROM (SELECT COUNT(*) FROM marked) AS marks, (SELECT COUNT(*) FROM locked) AS locks,
    generate_series(1, CAST($3 AS INTEGER))
  ), {_OTHERS}
"""
# The same for chats whose rows are known: the writes stand in the same statement, which fails if a row is another than it was. Beside a
# chat's chain its next number is compared: it moves with writes that have no record, too.
_GUARD = f"""{_LOCKED}, guard AS MATERIALIZED (
  SELECT CASE WHEN {_OTHERS} = 0 AND cardinality(CAST($1 AS TEXT[])) = (
    SELECT COUNT(*) FROM locked
    JOIN unnest(CAST($1 AS TEXT[]), CAST($5 AS TEXT[]), CAST($6 AS BIGINT[])) AS known(id, chain, next_seq) USING (id, chain, next_seq)
  ) THEN 1 ELSE CAST('changed ' || (SELECT COUNT(*) FROM locked) AS INTEGER) END AS passed
), taken AS MATERIALIZED (
  SELECT ARRAY(
    SELECT nextval('record_positions') FROM (SELECT COUNT(*) FROM marked) AS marks, (SELECT passed FROM guard) AS passing,
    generate_series(1, CAST($3 AS INTEGER))
  ) AS positions
)"""
_WAS_WRITTEN = """
WITH added AS (
  SELECT ARRAY(
    SELECT position FROM records JOIN unnest(CAST(?1 AS TEXT[]), CAST(?4 AS BIGINT[])) AS known(chat_id, next_seq) USING (chat_id)
    WHERE seq >= next_seq ORDER BY position
  ) AS positions
)
SELECT cardinality(CAST(?1 AS TEXT[])) = (
  SELECT COUNT(*) FROM chats
  JOIN unnest(CAST(?1 AS TEXT[]), CAST(?2 AS TEXT[]), CAST(?3 AS BIGINT[])) AS ends(id, chain, next_seq) USING (id, chain, next_seq)
) AND cardinality(positions) = CAST(?5 AS INTEGER), positions FROM added
"""
MOST_KNOWN = 4096


class ChatFence:
    """`held` are the chats that this process believes to hold, each with an object of its own from claim to release; only the event loop
    changes it. `taken_over` is called on any thread, and the rest is the writer's."""

    def __init__(self, peer_id: str, taken_over: Callable[[], None]) -> None:
        self.held: dict[str, object] = {}
        self.is_taken_over = False
        self._peer_id = peer_id
        self._taken_over = taken_over
        self._states: dict[str, tuple[object, ChainState]] = {}  # of held chats, as this process wrote them last
        self._holding: dict[str, object] = {}
        self._guard: WriteGuard | None = None

    def lock(
        self, connection: SqlConnection, chat_ids: Sequence[str], count: int
    ) -> tuple[Mapping[str, ChainState], Sequence[int]]:
        """Locks the rows of the chats until the transaction ends. Returns their states, and so many positions of records. Of held chats
        that this process has written to, the statement of the writes does it, and fails if a row has changed; `wrote` must follow.

        Raises: TakenOver if another process has taken one of the chats since. From then on every write is refused.
        """
        assert isinstance(connection, PostgresConnection)
        if self.is_taken_over:
            raise self.give_up()
        self._holding = {chat_id: self.held[chat_id] for chat_id in chat_ids if chat_id in self.held}
        self._guard = None
        states = self._known(chat_ids)
        if states is not None:
            ids, *before = _columns(states)
            guard = WriteGuard(_GUARD, (ids, ids, count, self._peer_id, *before), _WAS_WRITTEN)
            if connection.guard(guard):
                self._guard = guard
                return states, TakenPositions(guard.positions, range(count))
        return self._lock(connection, chat_ids, count)

    def _lock(
        self, connection: PostgresConnection, chat_ids: Sequence[str], count: int
    ) -> tuple[dict[str, ChainState], Sequence[int]]:
        connection.transaction_id, ids, chains, next_seqs, positions, lost = connection.execute(
            _LOCK_CHATS, (chat_ids, list(self._holding), count, self._peer_id)
        ).fetchone()
        if lost:
            raise self.give_up()
        return dict(zip(ids, zip(chains, next_seqs, strict=True), strict=True)), positions

    def wrote(self, states: Mapping[str, ChainState]) -> None:
        """Takes over how the transaction leaves the chats that `lock` locked; without those that it removed."""
        if self._guard is not None:
            ids, _, count, _, _, next_seqs = self._guard.values
            self._guard.evidence = (*_columns({id_: states.get(id_, ("", 0)) for id_ in ids}), next_seqs, count)
        if len(self._states) > MOST_KNOWN:
            self._states.clear()
        for chat_id, holding in self._holding.items():
            self._states.pop(chat_id, None)
            if chat_id in states:
                self._states[chat_id] = holding, states[chat_id]

    def forget(self) -> None:
        """Forgets how the chats were left: what was written last was undone."""
        self._states.clear()

    def _known(self, chat_ids: Sequence[str]) -> dict[str, ChainState] | None:
        states: dict[str, ChainState] = {}
        for chat_id in chat_ids:
            holding, state = self._states.get(chat_id, (None, None))
            if state is None or holding is not self._holding.get(chat_id):
                return None
            states[chat_id] = state
        return states or None

    def give_up(self) -> TakenOver:
        """Refuses every write from now on. Returns why."""
        self.is_taken_over = True
        self._taken_over()
        return TakenOver(
            "Another process took over the chats of this one while it did not answer. Nothing of this was kept. This one drops what it"
            " had begun and joins again; try again in a few seconds."
        )


def _columns(states: Mapping[str, ChainState]) -> tuple[list[str], list[str], list[int]]:
    return list(states), [chain for chain, _ in states.values()], [next_seq for _, next_seq in states.values()]
