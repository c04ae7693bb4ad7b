"""Builds the services with which a person browses and changes the files of a chat's workspace."""

import os
from collections.abc import Awaitable, Callable
from functools import partial

from anycowork.chats.files.chat_changes import RecordedPathsCache
from anycowork.chats.files.file_edit_service import FileEditService
from anycowork.chats.files.file_service import FileService
from anycowork.chats.files.git_service import GitService
from anycowork.chats.files.git_worktree_service import GitWorktreeService
from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.chats.files.person_command_service import PersonCommandService
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.chats.files.workspace_copy_service import WorkspaceCopyService, WorktreeService
from anycowork.config.settings import Settings
from anycowork.domain.files import INTERNAL_NAMES
from anycowork.domain.network import is_loopback
from anycowork.domain.principals import OWNER
from anycowork.domain.values import value
from anycowork.domain.visibility import EVERYONE
from anycowork.files.browser import FileBrowser
from anycowork.files.pdf_text import LocalPdfTexts
from anycowork.git.commits import CommitIntentFiles
from anycowork.git.hooks import AllowedHooks
from anycowork.git.repositories import GitRepositories
from anycowork.sandbox.git_identity import global_git_user
from anycowork.sandbox.layers.workspace_copies import WorkspaceCopier
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.workspaces import home_folder
from anycowork.server.machine import find_bubblewrap
from anycowork.server.setup.shared_components import SharedComponents
from anycowork.tools.person_terminal import PersonShell

PERSON_COMMAND_SECONDS = 600.0


@value
class FileServices:
    files: FileService
    edits: FileEditService
    git: GitService
    git_worktree: GitWorktreeService
    worktrees: WorktreeService
    pdf_texts: LocalPdfTexts


def build_file_services(shared: SharedComponents) -> FileServices:
    database, clock = shared.database, shared.clock
    store, rules, browser = database.store, database.rules, FileBrowser()
    recorded = RecordedPathsCache(store)
    files = FileService(store=store, rules=rules, workspaces=shared.workspaces, browser=browser, recorded=recorded)
    writer = _change_writer(shared)
    edits = FileEditService(
        store=store,
        rules=rules,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        browser=browser,
        recorded=recorded,
        writer=writer,
    )
    repositories = GitRepositories(
        lambda: global_git_user(home_folder(), os.environ),
        os.environ,
        home_folder() / "AnyCowork",
        shared.workspaces.layers,
        INTERNAL_NAMES.union(shared.settings.unkept_folders),
    )
    git = GitService(
        store=store,
        rules=rules,
        journal=database.journal,
        workspaces=shared.workspaces,
        repositories=repositories,
        writer=writer,
        clock=clock,
        intents=CommitIntentFiles(shared.settings.data_dir),
        recorded=recorded,
        hooks=AllowedHooks(shared.settings.data_dir),
        shell=person_shell(shared.settings),
        refused=_why_no_commands(shared.settings),
    )
    git_worktree = GitWorktreeService(
        store=store,
        rules=rules,
        journal=database.journal,
        workspaces=shared.workspaces,
        repositories=repositories,
        writer=writer,
        clock=clock,
    )
    worktrees = WorktreeService(
        store=store,
        rules=rules,
        journal=database.journal,
        repositories=repositories,
        writer=writer,
        clock=clock,
        find_workspace=shared.workspace_roots.find,
        register=_register(shared),
    )
    return FileServices(files, edits, git, git_worktree, worktrees, LocalPdfTexts())


def build_person_commands(shared: SharedComponents) -> PersonCommandService:
    settings, database = shared.settings, shared.database
    peers = database.peers
    return PersonCommandService(
        store=database.store,
        people=database.people,
        journal=database.journal,
        writer=_change_writer(shared),
        shell=person_shell(settings),
        clock=shared.clock,
        tasks=shared.tasks,
        refused=_why_no_commands(settings),
        others_write=None if peers is None else partial(database.leases.others_write, owner=peers.server_id),
    )


def person_shell(settings: Settings) -> PersonShell:
    bubblewrap = find_bubblewrap()
    return PersonShell(
        bubblewrap=bubblewrap.path if bubblewrap is not None and bubblewrap.works else None,
        data_dir=settings.data_dir,
        environ=os.environ,
        seconds=PERSON_COMMAND_SECONDS,
    )


def _why_no_commands(settings: Settings) -> str | None:
    if settings.person_commands == "off":
        return "Commands of people are switched off on this server ('person_commands' in config.toml)."
    if settings.person_commands == "auto" and not is_loopback(settings.host):
        return (
            f"Other machines reach this server ({settings.host}), so people run no commands in the page. Set 'person_commands' to 'on' in "
            "config.toml to allow it to everybody who has the server's token."
        )
    return None


def build_workspace_copies(shared: SharedComponents, rollback: RollbackService) -> WorkspaceCopyService:
    return WorkspaceCopyService(
        copier=WorkspaceCopier(
            most_bytes=shared.settings.command_copy_bytes,
            spare=CommandLimits().free_space,
            elsewhere=home_folder() / "AnyCowork",
        ),
        rollback=rollback,
        workspaces=shared.workspaces,
        writer=_change_writer(shared),
        snapshots=shared.snapshots,
        rules=shared.database.rules,
        clock=shared.clock,
        register=_register(shared),
    )


def _change_writer(shared: SharedComponents) -> PersonChangeWriter:
    return PersonChangeWriter(
        journal=shared.database.journal,
        store=shared.database.store,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        clock=shared.clock,
        people=shared.database.people,
    )


def _register(shared: SharedComponents) -> Callable[[str, str, str], Awaitable[str]]:
    async def register(root: str, by: str, source: str) -> str:
        """What is made of a workspace is seen by the same people."""
        around = await shared.database.store.visibility.around(source)
        visibility, _, owner = around[0] if around else (EVERYONE, "", OWNER.id)
        return await shared.workspace_roots.register(root, registered_by=by, visibility=visibility, owner=owner)

    return register
