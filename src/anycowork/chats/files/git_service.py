"""Shows a person the git repository of a chat's workspace, and commits, branches and pushes as the person's own act."""

import asyncio
import logging
from collections.abc import Sequence

from anycowork.chats.files.chat_changes import RecordedPathsCache
from anycowork.chats.files.file_service import protection_of
from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.checkpoints.workspace_images import KeptWorkspace
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import BadWorkspace, Conflict, NotAllowed, StateChanged, ToolFault
from anycowork.domain.files import Protection, shown_name
from anycowork.domain.git import (
    CommitContent,
    CommitIntent,
    GitDifference,
    GitFile,
    GitHook,
    GitIdentity,
    GitState,
    PreparedCommit,
    PushOffer,
    PushRequest,
)
from anycowork.domain.journal import Change, RequireLease, Write
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.ports import Clock, HiddenPathRules
from anycowork.domain.principals import Principal, PrincipalKind, Scope
from anycowork.domain.values import replace, value
from anycowork.git.commits import CommitIntentFiles
from anycowork.git.hooks import AllowedHooks, HookRun
from anycowork.git.repositories import GitRepositories
from anycowork.permissions.policy import PolicyEvaluator, admit_own_command, admit_person
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.tools.person_terminal import PersonShell
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.turns.record_factory import RecordFactory
from anycowork.workspace.folder import Folder
from anycowork.workspace.reader_threads import run_uncancellable

LONGEST_SUBJECT = 65
log = logging.getLogger(__name__)


@value
class ShownRepository:
    """`preselected` are the paths that a commit has unless the person chooses others."""

    state: GitState
    protections: dict[str, Protection]
    preselected: frozenset[str]
    proposed_message: str
    hooks_run: list[str]
    hooks_offered: bool

    def to_json(self) -> Json:
        state = self.state
        return {
            "reason": state.reason,
            "branch": state.branch,
            "head": state.head,
            "files": [
                {
                    "path": file.path,
                    "shown": shown_name(file.path),
                    "status": file.status,
                    "protected": self.protections.get(file.path),
                    "preselected": file.path in self.preselected,
                    "file_count": file.file_count,
                    "file_count_complete": file.is_counted_to_the_end,
                }
                for file in state.files
                if is_text(file.path)
            ],
            "complete": state.complete,
            "proposed_message": self.proposed_message,
            "identity": {"name": state.identity.name, "email": state.identity.email},
            "hooks_not_run": list(state.hooks_not_run),
            "hooks_run": [*self.hooks_run],
            "hooks_offered": self.hooks_offered,
            "operation": state.operation,
            "ahead": state.ahead_and_behind[0] if state.ahead_and_behind else None,
            "behind": state.ahead_and_behind[1] if state.ahead_and_behind else None,
        }


class GitService:
    def __init__(
        self,
        *,
        store: Store,
        rules: Rules,
        journal: Journal,
        workspaces: Workspaces,
        repositories: GitRepositories,
        writer: PersonChangeWriter,
        clock: Clock,
        intents: CommitIntentFiles,
        recorded: RecordedPathsCache,
        hooks: AllowedHooks,
        shell: PersonShell,
        refused: str | None,
    ) -> None:
        """`refused` says why people run no commands on this server, and so no hooks."""
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._journal = journal
        self._workspaces = workspaces
        self._repositories = repositories
        self._writer = writer
        self._clock = clock
        self._intents = intents
        self._recorded = recorded
        self._hooks = hooks
        self._shell = shell
        self._refused = refused
        self._draft = RecordFactory(clock)

    async def state(self, principal: Principal, chat_id: str) -> ShownRepository:
        """Returns branch, changed files and a message for a commit. Raises: NotFound, BadWorkspace, ToolFault."""
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        recorded = await self._recorded.of(chat)
        state = await self._repositories.state(workspace, recorded.folders)
        hidden = await self._policy.hidden(chat_id, workspace.origin)
        judged_paths = ((file.path, _protection(file, hidden)) for file in state.files)
        protections = {path: protection for path, protection in judged_paths if protection is not None}
        offered = [file for file in state.files if file.path not in protections and not file.is_generated]
        tracked = [file for file in offered if file.status != "conflicted"]  # a person says when a conflict is resolved
        chosen = [file for file in tracked if file.status != "untracked" or file.path in recorded.paths]
        is_of_the_chat = any(file.path in recorded.paths for file in chosen)  # else its title says nothing of the files
        message = proposed_message(chat.title, chosen) if is_of_the_chat else ""
        hooks = await self._hooks_for(principal, workspace) if state.hooks_not_run else None
        allowed = sorted(hooks.names) if hooks is not None else []
        state = replace(state, hooks_not_run=[name for name in state.hooks_not_run if name not in allowed])
        preselected = frozenset(file.path for file in chosen)
        offered_hooks = self._runs_hooks(principal) and bool(state.hooks_not_run)
        return ShownRepository(state, protections, preselected, message, allowed, offered_hooks)

    async def difference(self, principal: Principal, chat_id: str, path: str, *, reveal: bool) -> GitDifference | None:
        """Returns how a file differs from the last commit; None if it is protected and not to be revealed."""
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        difference = await self._repositories.difference(workspace, path)
        protection = protection_of(difference.path, await self._policy.hidden(chat_id, workspace.origin))
        return None if protection and not reveal else difference

    async def commit(self, principal: Principal, chat_id: str, content: CommitContent, *, head: str | None) -> str:
        """Commits what the person chose, on top of the commit that they saw or in its place; returns the new commit's id.

        The intent is recorded before, the result after: an intent without a result was cut off, and the next start records how far it came.
        Raises: NotFound, Conflict (nothing was committed), ToolFault, OutsideWorkspace.
        """
        by = admit_person(principal)
        chat = await require_chat_in_folder(self._store, chat_id)
        async with self._writer.writing(chat.workspace, principal) as (workspace, epoch):
            hooks = await self._hooks_for(principal, workspace)
            kept_workspace, _ = await self._writer.keep(workspace) if hooks is not None else (None, None)
            paths = content.all_paths
            try:
                prepared = await self._repositories.prepare_commit(workspace, content, head=head, hooks=hooks)
                commit, summary = prepared.commit, _what_is_committed(prepared, content)
                intended = {"intended_commit": commit, "parent": head}
                intent = CommitIntent(self._clock.new_id(), chat.id, commit, head, paths, by, summary)
                await self._intents.put(intent)
                await self._record(chat, workspace, epoch, by, f"You commit {summary}", intended)
                try:
                    await self._repositories.finish_commit(workspace, commit, paths, head=head)
                except (StateChanged, ToolFault) as fault:
                    await self._record_result(chat, intent, fault.message)
                    raise
                await self._record_result(chat, intent)
            except StateChanged as changed:
                raise Conflict(changed.message) from None
            finally:
                await self._record_hooks(chat, workspace, epoch, by, kept_workspace)
            if hooks is not None:
                await self._run_after_commit(chat, workspace, by, hooks)
        return commit

    async def hooks(self, principal: Principal, chat_id: str) -> list[GitHook]:
        """Returns the hooks of the repository with their texts. Raises: NotFound, NotAllowed, ToolFault."""
        admit_own_command(principal)
        chat = await require_chat_in_folder(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        return await asyncio.to_thread(self._hooks.of, workspace)

    async def allow_hooks(self, principal: Principal, chat_id: str, hashes: dict[str, str]) -> list[str]:
        """Lets exactly these hooks run at commits from now on, as the person; returns their names. Raises: NotAllowed, NotFound,
        ToolFault."""
        by = admit_own_command(principal)
        if self._refused is not None:
            raise NotAllowed(self._refused)
        chat = await require_chat_in_folder(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        names = await asyncio.to_thread(self._hooks.allow, workspace, hashes)
        listed = ", ".join(f"{name} ({hashes[name][:10]})" for name in names) or "none"
        await self._write(chat, by, f"You chose the hooks that run when you commit here: {listed}.", {"hooks": listed})
        return names

    def _runs_hooks(self, principal: Principal) -> bool:
        """A hook is a program with the rights of the server's user: who may run no command, runs none."""
        is_person = principal.kind is PrincipalKind.PERSON
        return is_person and Scope.MANAGE in principal.scopes and self._refused is None

    async def _hooks_for(self, principal: Principal, workspace: Folder) -> HookRun | None:
        if not self._runs_hooks(principal):
            return None
        shell = self._shell
        try:
            return await asyncio.to_thread(self._hooks.run_of, workspace, shell.namespace(), shell.environment())
        except ToolFault:
            return None  # the commit says what is wrong with the repository

    async def _run_after_commit(self, chat: Chat, workspace: Folder, by: str, hooks: HookRun) -> None:
        try:
            await run_uncancellable(lambda: hooks.after_commit(workspace))
        except ToolFault as fault:
            await self._write(chat, by, f"The commit stands. {fault.message}", {"hooks": None})

    async def _record_hooks(
        self, chat: Chat, workspace: Folder, epoch: int, by: str, kept_workspace: KeptWorkspace | None
    ) -> None:
        """Records what hooks changed of the files, so that it can be undone."""
        snapshots, _ = await self._writer.changes_since(kept_workspace, self._clock.new_id(), chat, workspace)
        if not snapshots:
            return
        events = tuple(event_factory.snapshot(snapshot) for snapshot in snapshots)
        message = self._message(chat, by, "Hooks of the repository changed files.", {"snapshot": snapshots[0].id})
        writes: tuple[Write, ...] = (RequireLease(workspace.root, epoch), *snapshots, message)
        await self._journal.write(Change(chat.id, writes, events, principal=by))

    async def settle_after_crash(self) -> None:
        """Records the results of commits that a crash cut off, as the repository shows them. What cannot be looked at now is tried again
        at the next start."""
        for intent in await self._intents.all():
            chat = await self._store.chats.find(intent.chat_id)
            try:
                if chat is not None and await self._store.messages.find(chat.id, intent.message_id) is None:
                    await self._settle(chat, intent)
            except (BadWorkspace, Conflict, ToolFault) as error:
                log.warning("what became of the commit %s is not known yet: %s", intent.commit, error.message)
                continue
            await self._intents.remove(intent)

    async def _settle(self, chat: Chat, intent: CommitIntent) -> None:
        async with self._writer.writing(chat.workspace, None) as (workspace, _):
            is_made = await self._repositories.settle_commit(workspace, intent.commit, intent.paths)
            await self._record_result(chat, intent, None if is_made else "The server was stopped before.")

    async def _record_result(self, chat: Chat, intent: CommitIntent, reason: str | None = None) -> None:
        """`reason` says why the commit was not made."""
        note = (
            f"You committed {intent.what}"
            if reason is None
            else f"The commit {intent.commit[:10]} was not made. {reason}"
        )
        commit_id = intent.commit if reason is None else None
        message = self._message(chat, intent.by, note, {"commit": commit_id, "parent": intent.parent})
        change = Change(chat.id, (replace(message, id=intent.message_id),), principal=intent.by)
        await self._journal.write(change)
        await self._intents.remove(intent)

    async def set_identity(self, principal: Principal, chat_id: str, identity: GitIdentity) -> None:
        """Writes who commits in this repository into its own configuration. Raises: NotFound, Conflict, ToolFault."""
        by = admit_person(principal)
        chat = await require_chat_in_folder(self._store, chat_id)
        async with self._writer.writing(chat.workspace, principal) as (workspace, epoch):
            await self._repositories.set_identity(workspace, identity)
            name, email = shown_name(identity.name), shown_name(identity.email)
            note = f"You set who commits in this repository: {name} <{email}>."
            await self._record(chat, workspace, epoch, by, note, {"name": name, "email": email})

    async def create_branch(self, principal: Principal, chat_id: str, name: str) -> None:
        """Creates a branch at the last commit and switches to it; no file changes. Raises: NotFound, Conflict, Invalid, ToolFault."""
        by = admit_person(principal)
        chat = await require_chat_in_folder(self._store, chat_id)
        async with self._writer.writing(chat.workspace, principal) as (workspace, epoch):
            state = await self._repositories.state(workspace)
            if state.reason is not None:
                raise ToolFault(state.reason)
            await self._repositories.create_branch(workspace, name)
            note = f"You created the branch {shown_name(name)} and switched to it."
            await self._record(chat, workspace, epoch, by, note, {"branch": shown_name(name), "parent": state.head})

    async def push_offer(self, principal: Principal, chat_id: str) -> PushOffer:
        """Returns where the branch could be pushed, and which commits. No remote is asked. Raises: NotFound, BadWorkspace, ToolFault."""
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        return await self._repositories.push_offer(self._workspaces.open(chat.workspace))

    async def push(self, principal: Principal, chat_id: str, request: PushRequest) -> None:
        """Pushes what the person saw, with their own credentials; records it before and, if it failed, after.

        Raises: NotFound, Conflict if something is not as shown; ToolFault.
        """
        by = admit_person(principal)
        chat = await require_chat_in_folder(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        where = f"{shown_name(request.branch)} ({request.head[:10]}) to {shown_name(request.remote)}, {shown_name(request.address)}"
        facts = {"pushed": request.head, "branch": shown_name(request.branch), "remote": shown_name(request.remote)}
        await self._write(chat, by, f"You push {where}.", {**facts, "to": shown_name(request.address)})
        try:
            await self._repositories.push(workspace, request)
        except (StateChanged, ToolFault) as fault:
            await self._write(chat, by, f"The push failed. {fault.message}", {**facts, "pushed": None})
            if isinstance(fault, StateChanged):
                raise Conflict(fault.message) from None
            raise

    async def _record(
        self, chat: Chat, workspace: Folder, epoch: int, by: str, note: str, facts: dict[str, str | None]
    ) -> None:
        await self._write(chat, by, note, facts, RequireLease(workspace.root, epoch))

    async def _write(
        self, chat: Chat, by: str, note: str, facts: dict[str, str | None], *required: RequireLease
    ) -> None:
        message = self._message(chat, by, note, facts)
        await self._journal.write(Change(chat.id, (*required, message), principal=by))

    def _message(self, chat: Chat, by: str, note: str, facts: dict[str, str | None]) -> Message:
        payload: Json = {"git": {**facts, "by": by}}
        return self._draft.message(chat, Speaker.SYSTEM, note, payload=payload)


def proposed_message(title: str, files: Sequence[GitFile]) -> str:
    """Returns a message without asking a model: what the chat is about, else the files. A person may still leave some of them out."""
    if not files:
        return ""
    subject = " ".join(title.split())
    if subject and len(subject) <= LONGEST_SUBJECT:
        return subject
    names = [file.path.rsplit("/", 1)[-1] for file in files]
    verbs = {"added": "Add", "untracked": "Add", "deleted": "Delete"}
    kinds = {verbs.get(file.status, "Update") for file in files}
    verb = kinds.pop() if len(kinds) == 1 else "Update"
    changed_files = shown_name(names[0]) if len(names) == 1 else f"{len(names)} files"
    return f"{verb} {changed_files}"


def is_text(path: str) -> bool:
    """Whether a request can name the path."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)


def _files_of(prepared: PreparedCommit) -> str:
    more = "" if prepared.complete else "more than "
    return f"{more}{prepared.files:,} {'file' if prepared.files == 1 else 'files'}"


def _what_is_committed(prepared: PreparedCommit, content: CommitContent) -> str:
    amended = " in place of the last commit" if content.amend else ""
    summary = f"{_files_of(prepared)}{amended} ({prepared.commit[:10]}): {_subject(content.message)}"
    if not prepared.hooks_not_run:
        return summary
    return f"{summary} (hooks of the repository that were not run: {', '.join(prepared.hooks_not_run)})"


def _subject(message: str) -> str:
    return shown_name(message.strip().split("\n", 1)[0][:LONGEST_SUBJECT])


def _protection(file: GitFile, hidden: HiddenPathRules) -> Protection | None:
    """Returns why this line is not committed without a word of its own: its file is protected, or one in its untracked folder."""
    return next(filter(None, (protection_of(path, hidden) for path in (file.path, *file.inside))), None)
