"""SQLite and PostgreSQL have the same tables with the same columns: every statement is written once."""

import sqlite3
from contextlib import closing
from pathlib import Path

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection
from support.postgres import PostgresCluster
from support.stored import put_fresh_database

TYPES = {
    "TEXT": "text",
    "BLOB": "bytea",
    "BIGINT": "bigint",
    "INTEGER": "bigint",
    "DOUBLE PRECISION": "double precision",
}
OF_PEERS = (
    "chat_holders",
    "engine_runs",
    "engine_signals",
    "layer_folders",
    "layer_requests",
    "pack_folders",
    "peers",
    "refused_jobs",
    "workspace_markers",
    "forwarded_requests",
)  # one process uses SQLite
OWN = ("message_search", "schema_migrations", *OF_PEERS)


def test_both_databases_have_the_same_tables_and_columns(tmp_path: Path, postgres: PostgresCluster) -> None:
    with closing(sqlite3.connect(put_fresh_database(tmp_path))) as sqlite:
        names = sqlite.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%yoyo%'"
            " AND name NOT LIKE 'message_search%' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        ours = {
            (name, column[1], TYPES[column[2]])
            for (name,) in names
            for column in sqlite.execute(f"PRAGMA table_info({name})")
        }
    with postgres.database() as url, closing(PostgresConnection(read_address(url))) as connection:
        found = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        ).fetchall()
        folded = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'text'"
            " AND collation_name IS DISTINCT FROM 'C' AND table_name <> 'schema_migrations'"
        ).fetchall()
    theirs = {tuple(row) for row in found if row[0] not in OWN}
    assert theirs == ours
    assert folded == [], "text sorts by its bytes, as in SQLite"
