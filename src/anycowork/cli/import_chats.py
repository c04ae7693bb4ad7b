"""`anycowork import`: imports chats that were stored elsewhere, while no server uses the data folder."""

import asyncio
import mmap
import os
import shutil
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from anycowork.cli.options import Invocation, require_folder, require_readable_file
from anycowork.cli.run_outcome import print_error
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, BadWorkspace
from anycowork.domain.principals import SERVER_PRINCIPAL
from anycowork.sandbox.workspaces import check_root, home_folder, under_a_root
from anycowork.server.clock import SystemClock
from anycowork.server.data_folder import lock_data_folder
from anycowork.server.setup.database_setup import open_database
from anycowork.store.sql.chat_file import ImportReport
from anycowork.store.sql.importer import Importer
from anycowork.store.sql.json_spans import JsonText


def import_files(invocation: Invocation, files: Sequence[Path]) -> int:
    """Imports every file; returns 0 if all could be read, 1 if something in them could not, 2 for wrong arguments.

    If one of the files cannot be opened, nothing is imported: the names are checked first.
    """
    try:
        settings = invocation.settings()
        workspace = settings.workspace or invocation.cwd
        require_folder(workspace)
        for path in files:
            require_readable_file(path)
        with lock_data_folder(settings.data_dir):
            reports = asyncio.run(_import(settings, files, workspace=workspace.resolve()))
    except AnyCoworkError as error:
        return print_error("import", error)
    for path, report in zip(files, reports, strict=True):
        _print_report(path, report)
    return 1 if any(report.problems for report in reports) else 0


async def _import(settings: Settings, files: Sequence[Path], *, workspace: Path) -> list[ImportReport]:
    clock = SystemClock()
    database = await open_database(settings, clock)
    try:
        roots = [root.root for root in await database.roots.all()]
        allowed = partial(_may_work_in, roots=[*roots, str(workspace)], data_dir=settings.data_dir)
        importer = Importer(database.writer, clock, str(workspace), SERVER_PRINCIPAL.label(), allowed)
        return [await _import_file(importer, path) for path in files]
    finally:
        await database.aclose()


async def _import_file(importer: Importer, path: Path) -> ImportReport:
    report = ImportReport()
    try:
        with path.open("rb") as file:
            text = await asyncio.to_thread(_mapped, file)
    except OSError as error:
        report.problem("file", f"cannot be read ({error.strerror})")
        return report
    return await importer.load(text)


def _mapped(file: BinaryIO) -> JsonText:
    """Maps the file, so that its size does not matter. What cannot be mapped, such as a pipe, is copied to disk first."""
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return _map(file)
    with TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        return _map(copy)


def _map(file: BinaryIO) -> JsonText:
    empty = os.fstat(file.fileno()).st_size == 0
    return b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _may_work_in(folder: str, *, roots: Sequence[str], data_dir: Path) -> bool:
    try:
        return under_a_root(check_root(folder, home=home_folder(), data_dir=data_dir), roots)
    except BadWorkspace:
        return False


def _print_report(path: Path, report: ImportReport) -> None:
    already_there = f", {report.already_there} already there" if report.already_there else ""
    stdout().line(f"{path}: {_count(report.chats, 'chat')} with {_count(report.messages, 'message')}{already_there}")
    for problem in (*report.problems, *report.notes):
        stderr().line(strip_controls(f"{path}, {problem.where}: {problem.reason}"))
    if report.not_listed:
        stderr().line(f"{path}: {report.not_listed} more of them are not listed")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
