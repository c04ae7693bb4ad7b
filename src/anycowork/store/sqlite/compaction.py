"""Returns disk space of deleted chats to the system. SQLite reuses such space but never shrinks its file."""

import logging
import shutil
import sqlite3
from pathlib import Path

WORTH_IT = 16 << 20  # bytes
_COPIES = 2  # the remaining data is written twice: beside the database, and into its log
_SPARE = 64 << 20

log = logging.getLogger(__name__)


def compact(connection: sqlite3.Connection, path: Path, *, worth_it: int = WORTH_IT) -> bool:
    """Compacts the database once the free space exceeds the data that is left, so that it never costs more than it frees.

    Blocking; call it outside a transaction. Returns whether it compacted; if the disk refuses, the database stays unchanged.
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
        log.warning("the space of deleted chats could not be freed: %s", error)
        return False
    return True
