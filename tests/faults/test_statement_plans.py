"""Every statement of the store reads through an index, on both databases: none goes through a table that grows without end.

The statements are read from the source, so that a new one is covered at once. Each exception says why it may read everything.
`make test-large` puts ANYCOWORK_LARGE_ROWS rows into each table of PostgreSQL.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection, _numbered
from anycowork.store.postgres.database import migrate
from anycowork.store.postgres.dialect import PostgresDialect
from anycowork.store.sqlite.connection import SqliteDialect, connect_to_write
from support.postgres import PostgresCluster
from support.spec import proves
from support.store_statements import StoreStatement, postgres_statements, store_statements
from support.stored import put_fresh_database

ROWS = int(os.environ.get("ANYCOWORK_LARGE_ROWS", "12000"))
# What people make one by one, or what has one row for each person, key, folder or process.
SMALL = {
    "house",
    "people",
    "principals",
    "workspaces",
    "leases",
    "rules",
    "system_prompts",
    "key_usage",
    "queued_messages",
    "schedules",
    "notification_targets",
    "notification_keys",
    "limits",
}
SMALL |= {"peers", "pack_folders", "workspace_markers", "refused_jobs", "forwarded_requests", "schema_migrations"}
SMALL |= {"engine_signals", "layer_folders", "layer_requests", "record_positions", "joined_workers", "worker_invites"}
# One chat or change has many of these: rows of one chat are not sorted either.
MANY_IN_A_CHAT = {"records", "messages", "snapshot_paths", "message_search"}
_START = "once, when the server starts"
_UPKEEP = "upkeep, by the hour: it must look at every content"
_FILTER = "a person filters the list of chats: few match, and one scan is faster than the index"
_GOING_ON = "counts for the metrics, over the index of the few jobs that go on"
EXCEPTIONS = {
    ("audit.chat_ids", ""): "a check of the audit log looks at every chat",
    ("chats._page", "COALESCE(updated_at, '')"): _FILTER,
    ("chats._page", "chats.owner = ?"): "a person may see few among many: then one scan is faster than the index",
    ("chats.skip_numbers", ""): _START,
    ("idempotency.mark_interrupted", ""): _START,
    ("jobs._in_states", "status IN (?, ?) ORDER"): _START,
    ("people.check_people", ""): "a check of the audit log reads every change to people",
    ("limits._running_jobs", ""): _GOING_ON,
    ("limits.used_by_people", ""): "the report of use, which a person asks for: it reads the use of many days",
    ("message_search._matches", ""): "the full-text index: it sorts the rows of one page",
    ("messages.remove_unnamed_image", ""): "only when a chat with images is deleted",
    ("snapshots._freed_by_pruning", ""): _UPKEEP,
    ("snapshots._forget_oldest", ""): _UPKEEP,
    ("snapshots._needed_hashes", ""): _UPKEEP,
    ("snapshots._needed_images", "moment IN"): _UPKEEP,
    ("snapshots.changes_in", ""): "reads what it returns: all changes in a folder, most often the only one",
    ("snapshots.unfinished_restores", ""): _START,
    ("store.read_numbers", "FROM chats"): "counts for the metrics, over a small index",
    ("store._by_status", "FROM jobs"): _GOING_ON,
    ("store.read_numbers", "FROM jobs"): _GOING_ON,
    ("turns._select", "state IN (?, ?) ORDER"): _START,
    ("visibility.hides_any_chat", ""): "before an export of all chats, which reads them all",
    ("usage.grouped", ""): "the report of use, which a person asks for: it reads all turns",
}
ONLY_POSTGRESQL = {
    ("chats._page", "chats.owner = ?"),
    ("limits._running_jobs", ""),
    ("snapshots._forget_oldest", ""),
    ("store._by_status", "FROM jobs"),
    ("store.read_numbers", "FROM jobs"),
    ("turns._select", "state IN (?, ?) ORDER"),
}


def exception(statement: StoreStatement) -> tuple[str, str] | None:
    return next((key for key in EXCEPTIONS if statement.place == key[0] and key[1] in statement.sql), None)


def checked(statements: list[StoreStatement]) -> list[StoreStatement]:
    """Those that have a plan."""
    return [statement for statement in statements if statement.sql.split()[0] in _PLANNED]


_PLANNED = ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")


def test_every_statement_of_the_store_was_found() -> None:
    """The reader of the source is only worth something as long as it sees what is there."""
    found = {statement.place for statement in store_statements(SqliteDialect())}
    assert len(found) > 120 and {"chats._page", "messages.page", "records._after", "usage._models"} <= found
    pages = {
        statement.sql.partition(" WHERE ")[2]
        for statement in store_statements(SqliteDialect())
        if statement.place == "jobs.page" and "FROM jobs" in statement.sql
    }
    assert len(pages) == 5 and any("chat_id = ? AND id < ?" in page for page in pages)
    only_there = {statement.module for statement in postgres_statements()}
    assert {"chat_fence", "dialect", "forwarded_requests", "peer_table", "peers"} <= only_there


@proves("OPS-4/4", "OPS-4/5")
def test_no_statement_reads_a_whole_table_in_sqlite(tmp_path: Path) -> None:
    wrong, used = {}, set()
    with closing(connect_to_write(put_fresh_database(tmp_path))) as connection:
        for statement in checked(store_statements(SqliteDialect())):
            if "pack_folders" in statement.sql:  # only PostgreSQL has it
                continue
            numbers = [int(number) for number in re.findall(r"\?(\d+)", statement.sql)]
            given = [None] * (max(numbers) if numbers else statement.sql.count("?"))
            plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", given)]
            if not (faults := sqlite_faults(statement.sql, plan)):
                continue
            if (key := exception(statement)) is not None:
                used.add(key)
            else:
                wrong[statement] = faults
    assert not wrong, "\n".join(f"{statement.place}: {faults}: {statement.sql}" for statement, faults in wrong.items())
    assert EXCEPTIONS.keys() - used == ONLY_POSTGRESQL  # an exception that nothing needs hides the next fault


def sqlite_faults(sql: str, plan: list[str]) -> list[str]:
    """What reads more than one page or one chat. A list in the order of an index ends with its LIMIT."""
    sorts = any("TEMP B-TREE" in line for line in plan)
    by_page = "ORDER BY" in sql and "LIMIT" in sql and not sorts
    tables = {line.split()[1] for line in plan if line.startswith(("SCAN ", "SEARCH "))}
    scans = [line for line in plan if line.startswith("SCAN ") and not {*line.split()[1:3]} & (SMALL | _NO_TABLES)]
    return [*([] if by_page else scans), *(["sorts " + ", ".join(tables)] if sorts and tables & MANY_IN_A_CHAT else [])]


_NO_TABLES = {"CONSTANT", "recorded"}  # rows of constants, and the steps of a recursion


@pytest.fixture(scope="module")
def filled(postgres: PostgresCluster) -> Iterator[PostgresConnection]:
    """A database with many rows in every table, and with its statistics."""
    address = read_address(
        postgres.new_database()
    )  # not one that others use again: emptying it takes as long as filling it
    with closing(PostgresConnection(address)) as connection:
        migrate(connection, address)
        columns = connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
            " WHERE table_schema = 'public' AND table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = 'public')"
        ).fetchall()
        tables: dict[str, dict[str, str]] = {}
        for table, column, kind, nullable in columns:
            tables.setdefault(table, {})[column] = value_of(column, kind, maybe=nullable == "YES")
        for table in sorted(tables.keys() - SMALL - {"chat_holders"}):
            names, values = ", ".join(tables[table]), ", ".join(tables[table].values())
            rows = f"SELECT {values} FROM generate_series(1, {ROWS}) AS n"
            connection.script(f"INSERT INTO {table} ({names}) {rows} ON CONFLICT DO NOTHING")
        connection.script("INSERT INTO chat_holders (chat_id, peer_id) SELECT id, id FROM chats")
        connection.script("ANALYZE")
        yield connection


def value_of(column: str, kind: str, *, maybe: bool) -> str:
    """A chat has ten rows, a turn three, a job twenty; nearly everything has ended."""
    if column in _PER_GROUP:
        return f"'{column}' || (n / {_PER_GROUP[column]})"
    if column in _MOSTLY and kind == "text":
        return f"CASE WHEN n % 500 = 0 THEN 'open' ELSE '{_MOSTLY[column]}' END"
    if column in _FLAGS:
        return "CASE WHEN n % 100 = 0 THEN 1 ELSE 0 END"
    if maybe:
        return "NULL"
    return _VALUES.get(kind, "n")


_PER_GROUP = {"chat_id": 10, "turn_id": 3, "job_id": 20, "snapshot_id": 5, "batch_id": 2, "workspace": 2_000}
_FLAGS = ("pinned", "archived", "pruned", "forgotten")
_MOSTLY = {"state": "done", "status": "done", "type": "message", "moment": "before", "race": "[]"}
_VALUES = {
    "bytea": "CAST(CAST(n AS TEXT) AS BYTEA)",
    "tsvector": "to_tsvector('simple', 'word' || n)",
    "text": "'v' || n",
    "timestamp with time zone": "now()",
}


@proves("OPS-4/4", "OPS-4/5")
def test_no_statement_reads_a_whole_table_in_postgresql(filled: PostgresConnection) -> None:
    wrong = {}
    filled.script("SET plan_cache_mode = force_generic_plan")
    for number, statement in enumerate(checked([*store_statements(PostgresDialect()), *postgres_statements()])):
        sql = _numbered(statement.sql)
        given = max((int(found) for found in re.findall(r"\$(\d+)", sql)), default=0)
        filled.script(f"PREPARE s{number} AS {sql}")
        execute = f"EXECUTE s{number}" + (f"({', '.join(['NULL'] * given)})" if given else "")
        [plan] = json.loads(filled.execute(f"EXPLAIN (FORMAT JSON) {execute}").fetchone()[0])
        faults = list(postgres_faults(plan["Plan"], limited=False))
        if faults and exception(statement) is None:
            wrong[statement] = faults
    assert not wrong, "\n".join(f"{statement.place}: {faults}: {statement.sql}" for statement, faults in wrong.items())


def postgres_faults(plan: dict[str, Any], *, limited: bool) -> Iterator[str]:
    """Scans of whole tables, and of whole indexes unless a LIMIT ends them."""
    node, table = plan["Node Type"], plan.get("Relation Name", "")
    if table and table not in SMALL and not table.startswith("pg_"):  # a server has few databases
        if node == "Seq Scan":
            yield f"{node} of {table}"
        if node in ("Index Scan", "Index Only Scan") and "Index Cond" not in plan and not limited:
            yield f"{node} of all of {table}"
    for inner in plan.get("Plans", []):
        yield from postgres_faults(
            inner, limited=node == "Limit" or (limited and node not in ("Sort", "Aggregate", "Hash"))
        )
