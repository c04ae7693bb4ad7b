"""Shows a person the history of a chat's repository, and changes files as git does: switch, pull, merge and stash.

Each is the person's own act: recorded before and after, and what it changed of the files can be undone.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from anycowork.chats.files.file_service import protection_of
from anycowork.chats.files.git_service import is_text
from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import AnyCoworkError, Conflict, StateChanged
from anycowork.domain.files import shown_name
from anycowork.domain.git import GitBranch, GitLog, GitStash, MergeResult, PullSource, PushRequest
from anycowork.domain.journal import Change, RequireLease, Write
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.origins import NO_ORIGINS, Origins, origin_of
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.git.own_git_folder import GitHead
from anycowork.git.push import remote_host
from anycowork.git.repositories import GitRepositories
from anycowork.permissions.policy import PolicyEvaluator, admit_person
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.turns.record_factory import RecordFactory
from anycowork.workspace.folder import Folder

T = TypeVar("T")


class GitWorktreeService:
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
    ) -> None:
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._journal = journal
        self._workspaces = workspaces
        self._repositories = repositories
        self._writer = writer
        self._clock = clock
        self._draft = RecordFactory(clock)

    async def log(
        self, principal: Principal, chat_id: str, *, tip: str | None, branch: str | None, skip: int
    ) -> GitLog:
        """Returns one page of commits. Raises: NotFound, BadWorkspace, ToolFault."""
        return await self._repositories.log(await self._read(principal, chat_id), tip=tip, branch=branch, skip=skip)

    async def commit(self, principal: Principal, chat_id: str, commit: str) -> Json:
        """Returns a commit and the files that it changed. Raises: NotFound, ToolFault."""
        workspace = await self._read(principal, chat_id)
        details = await self._repositories.commit_details(workspace, commit)
        hidden = await self._policy.hidden(chat_id, workspace.origin)
        files: list[Json] = [
            {
                "path": file.path,
                "shown": shown_name(file.path),
                "status": file.status,
                "protected": protection_of(file.path, hidden),
            }
            for file in details.files
            if is_text(file.path)
        ]
        return {
            "id": details.line.id,
            "subject": details.line.subject,
            "body": details.body,
            "author": details.line.author,
            "email": details.email,
            "created_at": details.line.created_at,
            "parents": list(details.parents),
            "files": [*files],
            "complete": details.complete,
        }

    async def commit_difference(
        self, principal: Principal, chat_id: str, commit: str, path: str, *, reveal: bool
    ) -> str | None:
        """Returns how a commit changed a file; None if the file is protected and not to be revealed. Raises: NotFound, ToolFault."""
        workspace = await self._read(principal, chat_id)
        if protection_of(path, await self._policy.hidden(chat_id, workspace.origin)) and not reveal:
            return None
        return await self._repositories.commit_difference(workspace, commit, path)

    async def branches(self, principal: Principal, chat_id: str) -> list[GitBranch]:
        """Returns the newest branches. Raises: NotFound, ToolFault."""
        return await self._repositories.branches(await self._read(principal, chat_id))

    async def stashes(self, principal: Principal, chat_id: str) -> list[GitStash]:
        """Returns the newest stashes. Raises: NotFound, ToolFault."""
        return await self._repositories.stashes(await self._read(principal, chat_id))

    async def pull_sources(self, principal: Principal, chat_id: str) -> tuple[GitHead, list[PullSource]]:
        """Returns where the branch could be pulled from. No remote is asked. Raises: NotFound, ToolFault."""
        return await self._repositories.pull_sources(await self._read(principal, chat_id))

    async def switch(self, principal: Principal, chat_id: str, branch: str) -> None:
        """Checks the branch out. Raises: NotFound, Conflict, Invalid, ToolFault."""
        name = shown_name(branch)
        await self._act(
            principal,
            chat_id,
            f"switch to the branch {name}",
            lambda workspace: self._repositories.switch(workspace, branch),
            lambda _: f"You switched to the branch {name}.",
        )

    async def pull(self, principal: Principal, chat_id: str, request: PushRequest) -> MergeResult:
        """Fetches the branch as the person and merges it. Raises: NotFound, Conflict if something is not as shown, ToolFault."""
        source = f"{shown_name(request.branch)} from {shown_name(request.remote)}, {shown_name(request.address)}"
        return await self._act(
            principal,
            chat_id,
            f"pull {source}",
            lambda workspace: self._repositories.pull(workspace, request),
            lambda merged: f"You pulled {source}. {_pulled(merged)}",
            brought=frozenset({origin_of("git", remote_host(request.address))}),
        )

    async def finish_merge(self, principal: Principal, chat_id: str) -> str:
        """Commits the merge in progress. Raises: NotFound, Conflict, ToolFault if conflicts are left."""
        return await self._act(
            principal,
            chat_id,
            "commit the merge",
            self._repositories.finish_merge,
            lambda commit: f"You committed the merge ({commit[:10]}).",
        )

    async def abort_merge(self, principal: Principal, chat_id: str) -> None:
        """Gives back the files that were there before the merge. Raises: NotFound, Conflict, ToolFault."""
        await self._act(
            principal,
            chat_id,
            "cancel the merge",
            self._repositories.abort_merge,
            lambda _: "You cancelled the merge. The files are as they were before it.",
        )

    async def save_stash(self, principal: Principal, chat_id: str, message: str) -> str:
        """Puts the changes of tracked files aside. Raises: NotFound, Conflict, ToolFault."""
        name = shown_name(message)
        return await self._act(
            principal,
            chat_id,
            f"stash your changes: {name}",
            lambda workspace: self._repositories.save_stash(workspace, message),
            lambda commit: f"You stashed your changes ({commit[:10]}): {name}",
        )

    async def apply_stash(self, principal: Principal, chat_id: str, number: int, commit: str) -> MergeResult:
        """Bring the changes of a stash back. Raises: NotFound, Conflict, ToolFault."""
        return await self._act(
            principal,
            chat_id,
            f"apply the stash {commit[:10]}",
            lambda workspace: self._repositories.apply_stash(workspace, number, commit),
            lambda merged: f"You applied the stash {commit[:10]}. {_in_conflict(merged)}".strip(),
        )

    async def drop_stash(self, principal: Principal, chat_id: str, number: int, commit: str) -> None:
        """Removes a stash from git's list. Raises: NotFound, Conflict, ToolFault."""
        await self._act(
            principal,
            chat_id,
            f"drop the stash {commit[:10]}",
            lambda workspace: self._repositories.drop_stash(workspace, number, commit),
            lambda _: f"You dropped the stash {commit[:10]}.",
        )

    async def _read(self, principal: Principal, chat_id: str) -> Folder:
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        return self._workspaces.open(chat.workspace)

    async def _act(
        self,
        principal: Principal,
        chat_id: str,
        intent: str,
        act: Callable[[Folder], Awaitable[T]],
        done: Callable[[T], str],
        *,
        brought: Origins = NO_ORIGINS,
    ) -> T:
        """Does it under the workspace's lease, recorded before and after. Raises: Conflict, ToolFault, Invalid."""
        by = admit_person(principal)
        chat = await require_chat_in_folder(self._store, chat_id)
        act_id = self._clock.new_id()
        async with self._writer.writing(chat.workspace, principal) as (workspace, epoch):
            kept_workspace, not_kept = await self._writer.keep(workspace)
            lease = RequireLease(workspace.root, epoch)
            await self._write(chat, by, f"You {intent}.", {}, lease)
            note, fault, result = "", None, None
            try:
                result = await act(workspace)
                note = done(result)
            except AnyCoworkError as error:
                note, fault = f"Git did not {intent}. {error.message}", error
            snapshots, unknown = await self._writer.changes_since(kept_workspace, act_id, chat, workspace)
            facts: Json = {"snapshot": snapshots[0].id if snapshots else None, "no_undo": not_kept or unknown}
            events = tuple(event_factory.snapshot(snapshot) for snapshot in snapshots)
            message = self._draft.message(chat, Speaker.SYSTEM, note, payload={"git": {**facts, "by": by}})
            labels = await self._writer.origins_of(
                workspace, snapshots, unknown=bool(not_kept or unknown), brought=brought
            )
            writes: tuple[Write, ...] = (lease, *snapshots, *labels, message)
            await self._journal.write(Change(chat.id, writes, events, principal=by))
        if isinstance(fault, StateChanged):
            raise Conflict(fault.message) from None
        if fault is not None:
            raise fault
        return result  # type: ignore[return-value] # set wherever there is no fault

    async def _write(self, chat: Chat, by: str, note: str, facts: Json, lease: RequireLease) -> None:
        message = self._draft.message(chat, Speaker.SYSTEM, note, payload={"git": {**facts, "by": by}})
        await self._journal.write(Change(chat.id, (lease, message), principal=by))


def _pulled(result: MergeResult) -> str:
    if result.conflicts:
        return _in_conflict(result)
    return f"The branch is at {(result.commit or '')[:10]} now." if result.is_new else "Nothing was new."


def _in_conflict(result: MergeResult) -> str:
    """Empty if nothing is."""
    if not result.conflicts:
        return ""
    return f"In conflict: {_listed(result.conflicts)}. Resolve the conflicts, then commit."


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 5:,} more" if len(paths) > 5 else ""
    return ", ".join(shown_name(path) for path in paths[:5]) + more
