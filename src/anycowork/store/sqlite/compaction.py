"""Giving the disk back what deleted chats took. SQLite uses such room again by itself, and never makes its file smaller."""

import logging
import shutil
import sqlite3
from pathlib import Path

WORTH_IT = 16 << 20  # bytes
_COPIES = 2  # what is left is written twice on the way: beside the database, and into its log
_SPARE = 64 << 20

log = logging.getLogger(__name__)


def compact(connection: sqlite3.Connection, path: Path, *, worth_it: int = WORTH_IT) -> bool:
    """Once the room to be won is more than all that is left: so it never costs more than it gives. Blocking, and outside a transaction.

    Returns whether it was done; a disk that refuses leaves the database as it was.
    """
    page, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    left = (pages - free) * page
    if free * page < worth_it or free * 2 <= pages:
        return False
    if shutil.disk_usage(path.parent).free < _COPIES * left + _SPARE:
        return False
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        log.warning("the room that deleted chats took could not be given back: %s", error)
        return False
    return True
