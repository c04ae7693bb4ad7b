"""Builds the services with which a person browses and changes the files of a chat's workspace."""

from anycowork.chats.file_edit_service import FileEditService
from anycowork.chats.file_service import FileService
from anycowork.chats.person_changes import PersonChangeWriter
from anycowork.chats.recorded_paths import RecordedPathsCache
from anycowork.domain.ports import Clock
from anycowork.files.browser import LocalFileBrowser
from anycowork.server.shared_parts import SharedParts
from anycowork.store.sql.database import Database


def build_file_services(shared: SharedParts, database: Database, clock: Clock) -> tuple[FileService, FileEditService]:
    store, rules, browser = database.store, database.rules, LocalFileBrowser()
    recorded = RecordedPathsCache(store)
    files = FileService(store=store, rules=rules, workspaces=shared.workspaces, browser=browser, recorded=recorded)
    writer = PersonChangeWriter(
        journal=database.journal, workspaces=shared.workspaces, snapshots=shared.snapshots, clock=clock
    )
    edits = FileEditService(
        store=store,
        rules=rules,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        browser=browser,
        recorded=recorded,
        writer=writer,
    )
    return files, edits
