"""Copies a data folder while its server runs: the database at one moment, then what its rows name."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from anycowork.config.settings import Settings
from anycowork.domain.errors import Conflict, Invalid, StorageFault
from anycowork.domain.values import value
from anycowork.domain.visible_text import os_reason
from anycowork.git.commits import FOLDER as COMMITS_IN_PROGRESS
from anycowork.server.data_folder import LOCK_FILE, SERVER_FILE
from anycowork.server.setup.sandbox_setup import STAGING_FOLDER
from anycowork.store.sql.audit import heads_path
from anycowork.store.sqlite.connection import BUSY_SECONDS, create_file

# What is in progress, who holds the folder, and models, which can be downloaded again.
LEFT_OUT = frozenset({STAGING_FOLDER, COMMITS_IN_PROGRESS, LOCK_FILE, SERVER_FILE, "models"})
PAGES_AT_ONCE = 2_000  # of 4 KB: writers wait for no more than that
MOST_LOOKS = 10

Progress = Callable[[str, int], None]
"""Gets what is copied, and how many percent of the database or how many files are."""


@value
class Backup:
    """`files` counts those besides the database."""

    files: int
    size: int
    with_database: bool


def back_up(settings: Settings, to: Path, progress: Progress = lambda name, done: None) -> Backup:
    """Copies the data folder to `to`, which appears when everything is there. A server may run meanwhile.

    The heads of the audit chains come first, since the chains of the copy must reach them. Then comes the database: contents of checkpoints
    are written before the rows that name them. Chats in PostgreSQL were dumped before, so there the heads are left out: they reach further.
    Raises: Invalid, Conflict, StorageFault; then nothing is left.
    """
    data, to = settings.data_dir.resolve(), to.absolute()
    _require_new(data, to)
    part = _make_part(to)
    try:
        try:
            with_database = settings.database_url is None
            heads = heads_path(settings.database_path)
            if with_database:
                if heads.exists():
                    _copy(heads, part / heads.name)
                _copy_database(settings.database_path, part / settings.database_path.name, progress)
            files = _copy_files(data, part, (settings.database_path.name, heads.name), progress)
            size = sum(path.lstat().st_size for path in part.rglob("*"))
            part.rename(to)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    except (OSError, sqlite3.Error) as error:
        raise StorageFault(
            f"The backup could not be made, and nothing of it was kept ({os_reason(error, with_path=True)}). "
            f"Check that you may read everything in {data} and that there is enough space in {to.parent}, then try again."
        ) from error
    return Backup(files, size, with_database)


def _make_part(to: Path) -> Path:
    """Creates the folder that becomes `to`. Raises: StorageFault."""
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{to.name}-", dir=to.parent))
    except OSError as error:
        raise StorageFault(
            f"No backup was made: nothing can be written in {to.parent} ({os_reason(error)}). "
            "Make that folder writable for you, or name another place."
        ) from error


def _require_new(data: Path, to: Path) -> None:
    if not data.is_dir():
        raise Invalid(f"There is no data folder at {data}. Name it with --data-dir.", param="data_dir")
    if to.resolve().is_relative_to(data):
        raise Invalid(f"{to} lies in the data folder itself. Choose a folder outside of {data}.", param="folder")
    if to.exists() or to.is_symlink():
        raise Conflict(f"{to} exists already. Choose a new name, so that no earlier backup is lost.")


def _copy_database(database: Path, to: Path, progress: Progress) -> None:
    if not database.is_file():
        raise Invalid(f"There is no database at {database}: no server has used this data folder.", param="data_dir")

    def show(status: int, remaining: int, total: int) -> None:
        progress("database", 100 * (total - remaining) // max(total, 1))

    create_file(to)
    with (
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as source,
        closing(sqlite3.connect(to)) as target,
    ):
        source.backup(target, pages=PAGES_AT_ONCE, progress=show)


def _copy_files(data: Path, to: Path, copied_already: tuple[str, ...], progress: Progress) -> int:
    """Copies until a look at the folder finds nothing that vanished: upkeep may put contents into other files meanwhile."""
    copied: set[str] = set()
    for _ in range(MOST_LOOKS):
        vanished = False
        for path in _entries(data, copied_already):
            name = str(path.relative_to(data))
            try:
                is_new = _copy(path, to / name) and name not in copied
            except FileNotFoundError:
                vanished = True
                continue
            if is_new:
                copied.add(name)
                progress("files", len(copied))
        if not vanished:
            return len(copied)
    raise StorageFault("The data folder changed all the time while it was copied. Try again when less is going on.")


def _entries(data: Path, copied_already: tuple[str, ...]) -> Iterator[Path]:
    for folder, folders, files in os.walk(data):
        at_top = Path(folder) == data
        if at_top:
            folders[:] = [name for name in folders if name not in LEFT_OUT]
            files = [name for name in files if name not in LEFT_OUT and not name.startswith(copied_already)]
        for name in (*folders, *files):
            yield Path(folder, name)


def _copy(path: Path, to: Path) -> bool:
    """Returns whether it is a file or a link, rather than a folder or something that cannot be copied. Raises: OSError."""
    mode = path.lstat().st_mode
    if S_ISDIR(mode):
        to.mkdir(exist_ok=True)
        to.chmod(mode & 0o7777)
    elif S_ISREG(mode) or S_ISLNK(mode):
        to.unlink(missing_ok=True)
        shutil.copy2(path, to, follow_symlinks=False)
        return True
    return False
