"""Builds the services with which a person browses and changes the files of a chat's workspace."""

import os

from anycowork.chats.file_edit_service import FileEditService
from anycowork.chats.file_service import FileService
from anycowork.chats.git_service import GitService
from anycowork.chats.person_changes import PersonChangeWriter
from anycowork.chats.recorded_paths import RecordedPathsCache
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.workspace_copy_service import WorkspaceCopyService
from anycowork.config.settings import Settings
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.files.browser import LocalFileBrowser
from anycowork.git.repositories import LocalGitRepositories
from anycowork.sandbox.git_identity import git_identity
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.workspace_copies import LocalWorkspaceCopier
from anycowork.sandbox.workspaces import home_folder
from anycowork.server.shared_parts import SharedParts
from anycowork.store.sql.database import Database


@value
class FileServices:
    files: FileService
    edits: FileEditService
    git: GitService


def build_file_services(shared: SharedParts, database: Database, clock: Clock) -> FileServices:
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
    git = GitService(
        store=store,
        rules=rules,
        journal=database.journal,
        workspaces=shared.workspaces,
        repositories=LocalGitRepositories(lambda: git_identity(home_folder(), os.environ)),
        writer=writer,
        clock=clock,
    )
    return FileServices(files, edits, git)


def build_workspace_copies(
    settings: Settings, shared: SharedParts, database: Database, rollback: RollbackService, clock: Clock
) -> WorkspaceCopyService:
    async def register(root: str, by: str) -> str:
        return await shared.workspace_roots.register(root, registered_by=by)

    return WorkspaceCopyService(
        copier=LocalWorkspaceCopier(
            most_bytes=settings.command_copy_bytes,
            spare=CommandLimits().free_space,
            elsewhere=home_folder() / "AnyCowork",
        ),
        rollback=rollback,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        rules=database.rules,
        clock=clock,
        register=register,
    )
