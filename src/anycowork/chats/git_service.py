"""Shows a person the git repository of a chat's workspace, and commits, branches and pushes as the person's own act."""

from collections.abc import Sequence

from anycowork.chats.file_service import protection_of
from anycowork.chats.lookup import require_chat
from anycowork.chats.person_changes import PersonChangeWriter
from anycowork.chats.record_factory import RecordFactory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import Conflict, StateChanged, ToolFault
from anycowork.domain.files import Protection, shown_name
from anycowork.domain.git import GitFile, GitRepositories, GitState, PushOffer, PushRequest
from anycowork.domain.journal import Change, RequireLease
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock, Journal, Rules, Store, Workspace, Workspaces
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.values import value
from anycowork.permissions.gate import admit_person
from anycowork.permissions.policy import PolicyEvaluator

LONGEST_SUBJECT = 65


@value
class ShownRepository:
    state: GitState
    protections: dict[str, Protection]
    proposed_message: str

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
                }
                for file in state.files
                if is_text(file.path)
            ],
            "complete": state.complete,
            "proposed_message": self.proposed_message,
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
    ) -> None:
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._journal = journal
        self._workspaces = workspaces
        self._repositories = repositories
        self._writer = writer
        self._draft = RecordFactory(clock)

    async def state(self, principal: Principal, chat_id: str) -> ShownRepository:
        """Return branch, changed files and a message for a commit. Raises: NotFound, BadWorkspace, ToolFault."""
        principal.require(Scope.DECIDE)
        chat = await require_chat(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        state = await self._repositories.state(workspace)
        hidden = await self._policy.hidden(chat_id, workspace.origin)
        found = ((file.path, protection_of(file.path, hidden)) for file in state.files)
        protections = {path: protection for path, protection in found if protection is not None}
        offered = [file for file in state.files if file.path not in protections]
        return ShownRepository(state, protections, proposed_message(chat.title, offered))

    async def difference(self, principal: Principal, chat_id: str, path: str, *, reveal: bool) -> str | None:
        """Return how a file differs from the last commit; None if it is protected and not to be revealed."""
        principal.require(Scope.DECIDE)
        chat = await require_chat(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        protection = protection_of(path, await self._policy.hidden(chat_id, workspace.origin))
        return None if protection and not reveal else await self._repositories.difference(workspace, path)

    async def commit(
        self, principal: Principal, chat_id: str, message: str, paths: Sequence[str], *, head: str | None
    ) -> str:
        """Commit these paths as they are now, on top of the commit that the person saw; return the new commit's id.

        The intent is recorded before, the result after: an intent without a result was cut off, and the repository shows how far it came.
        Raises: NotFound, Conflict (nothing was committed), ToolFault, OutsideWorkspace.
        """
        by = admit_person(principal)
        chat = await require_chat(self._store, chat_id)
        async with self._writer.writing(chat.workspace) as (workspace, epoch):
            try:
                commit = await self._repositories.prepare_commit(workspace, message, paths, head=head)
                what = f"{len(paths)} {'file' if len(paths) == 1 else 'files'} ({commit[:10]}): {_subject(message)}"
                intended = {"intended_commit": commit, "parent": head}
                await self._record(chat, workspace, epoch, by, f"You commit {what}", intended)
                try:
                    await self._repositories.finish_commit(workspace, commit, paths, head=head)
                except (StateChanged, ToolFault) as fault:
                    words = f"The commit {commit[:10]} was not made. {fault.message}"
                    await self._write(chat, by, words, {"commit": None, "parent": head})
                    raise
                await self._write(chat, by, f"You committed {what}", {"commit": commit, "parent": head})
            except StateChanged as changed:
                raise Conflict(changed.message) from None
        return commit

    async def create_branch(self, principal: Principal, chat_id: str, name: str) -> None:
        """Create a branch at the last commit and switch to it; no file changes. Raises: NotFound, Conflict, Invalid, ToolFault."""
        by = admit_person(principal)
        chat = await require_chat(self._store, chat_id)
        async with self._writer.writing(chat.workspace) as (workspace, epoch):
            state = await self._repositories.state(workspace)
            if state.reason is not None:
                raise ToolFault(state.reason)
            await self._repositories.create_branch(workspace, name)
            words = f"You created the branch {shown_name(name)} and switched to it."
            await self._record(chat, workspace, epoch, by, words, {"branch": shown_name(name), "parent": state.head})

    async def push_offer(self, principal: Principal, chat_id: str) -> PushOffer:
        """Return where the branch could be pushed, and which commits. No remote is asked. Raises: NotFound, BadWorkspace, ToolFault."""
        principal.require(Scope.DECIDE)
        chat = await require_chat(self._store, chat_id)
        return await self._repositories.push_offer(self._workspaces.open(chat.workspace))

    async def push(self, principal: Principal, chat_id: str, wanted: PushRequest) -> None:
        """Push what the person saw, with their own credentials; record it before and, if it failed, after.

        Raises: NotFound, Conflict if something is not as shown; ToolFault.
        """
        by = admit_person(principal)
        chat = await require_chat(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        where = f"{shown_name(wanted.branch)} ({wanted.head[:10]}) to {shown_name(wanted.remote)}, {shown_name(wanted.address)}"
        what = {"pushed": wanted.head, "branch": shown_name(wanted.branch), "remote": shown_name(wanted.remote)}
        await self._write(chat, by, f"You push {where}.", {**what, "to": shown_name(wanted.address)})
        try:
            await self._repositories.push(workspace, wanted)
        except (StateChanged, ToolFault) as fault:
            await self._write(chat, by, f"The push failed. {fault.message}", {**what, "pushed": None})
            if isinstance(fault, StateChanged):
                raise Conflict(fault.message) from None
            raise

    async def _record(
        self, chat: Chat, workspace: Workspace, epoch: int, by: str, words: str, what: dict[str, str | None]
    ) -> None:
        await self._write(chat, by, words, what, RequireLease(workspace.root, epoch))

    async def _write(
        self, chat: Chat, by: str, words: str, what: dict[str, str | None], *required: RequireLease
    ) -> None:
        payload: Json = {"git": {**what, "by": by}}
        message = self._draft.message(chat, Speaker.SYSTEM, words, payload=payload)
        await self._journal.write(Change(chat.id, (*required, message), principal=by))


def proposed_message(title: str, files: Sequence[GitFile]) -> str:
    """Return a message without asking a model: what the chat is about, else the files. A person may still leave some of them out."""
    if not files:
        return ""
    subject = " ".join(title.split())
    if subject and len(subject) <= LONGEST_SUBJECT:
        return subject
    names = [file.path.rsplit("/", 1)[-1] for file in files]
    verbs = {"added": "Add", "untracked": "Add", "deleted": "Delete"}
    kinds = {verbs.get(file.status, "Update") for file in files}
    verb = kinds.pop() if len(kinds) == 1 else "Update"
    what = shown_name(names[0]) if len(names) == 1 else f"{len(names)} files"
    return f"{verb} {what}"


def is_text(path: str) -> bool:
    """Whether a request can name the path."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)


def _subject(message: str) -> str:
    return shown_name(message.strip().split("\n", 1)[0][:LONGEST_SUBJECT])
