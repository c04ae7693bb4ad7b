"""Shows a person the files of a chat's workspace. Nothing of it enters the chat or reaches a model."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta

from anycowork.chats.files.chat_changes import RecordedPaths, RecordedPathsCache, who_changed
from anycowork.domain.chats import Chat
from anycowork.domain.errors import FileMissing, NotFound
from anycowork.domain.files import ChangedBy, FileContent, FolderEntry, FolderPage, FoundPaths, Protection, shown_name
from anycowork.domain.messages import Json
from anycowork.domain.ports import ContentReader, HiddenPathRules, Telling
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.times import written_time
from anycowork.domain.values import value
from anycowork.files.browser import FileBrowser
from anycowork.permissions.policy import PolicyEvaluator
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.workspace.folder import Folder

_1970 = datetime(1970, 1, 1, tzinfo=UTC)


@value
class ListedEntry:
    entry: FolderEntry
    changed_by: ChangedBy | None
    protection: Protection | None

    def to_json(self) -> Json:
        entry = self.entry
        return {
            "path": entry.path,
            "name": shown_name(entry.name),
            "kind": entry.kind,
            "size": entry.size,
            "modified": _time(entry.modified),
            "ignored": entry.ignored,
            "target": None if entry.target is None else shown_name(entry.target),
            "changed_by": self.changed_by,
            "protected": self.protection,
        }


@value
class ListedFolder:
    page: FolderPage
    entries: tuple[ListedEntry, ...]

    def to_json(self) -> Json:
        page = self.page
        return {
            "path": page.path,
            "entries": [entry.to_json() for entry in self.entries],
            "total": page.total,
            "next": page.next,
        }


@value
class ShownFile:
    """`withheld`: the content is protected, and the person has not asked to see it."""

    content: FileContent
    changed_by: ChangedBy | None
    protection: Protection | None
    withheld: bool

    def to_json(self) -> Json:
        content, seen = self.content, not self.withheld
        data = b64encode(content.image).decode() if content.image is not None and seen else None
        return {
            "path": content.path,
            "shown": shown_name(content.path),
            "kind": content.kind.value if seen else "protected",
            "size": content.size,
            "modified": _time(content.modified),
            "sha256": content.sha256 if seen else None,
            "text": content.text if seen else None,
            "image": None if data is None else f"data:{content.media_type};base64,{data}",
            "editable": content.editable and seen,
            "changed_by": self.changed_by,
            "protected": self.protection,
        }


class FileService:
    """Only a person (or the person's editor) browses files: a program with a read scope gets nothing through it."""

    def __init__(
        self,
        *,
        store: Store,
        rules: Rules,
        workspaces: Workspaces,
        browser: FileBrowser,
        recorded: RecordedPathsCache,
    ) -> None:
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._workspaces = workspaces
        self._browser = browser
        self._recorded = recorded

    async def search(self, principal: Principal, chat_id: str, query: str, *, limit: int) -> FoundPaths:
        """Returns files and folders whose names match, without ignored ones and ones that rules hide. Raises: NotFound, BadWorkspace."""
        _, workspace, hidden = await self._open(principal, chat_id)
        return await self._browser.search(workspace, query, limit=limit, hidden=hidden)

    async def folder(
        self, principal: Principal, chat_id: str, path: str, *, cursor: str | None, limit: int
    ) -> ListedFolder:
        """Returns one page of a folder. Raises: NotFound, BadWorkspace, OutsideWorkspace, WrongKind, Invalid."""
        chat, workspace, hidden = await self._open(principal, chat_id)
        try:
            page = await self._browser.folder(workspace, path, cursor=cursor, limit=limit)
        except FileMissing:
            raise NotFound("folder", shown_name(path)) from None
        recorded, chat_began = await self._recorded.of(chat), _nanoseconds(chat.created_at)
        listed = tuple(
            ListedEntry(entry, _changed_by(entry, recorded, chat_began), protection_of(entry.path or "", hidden))
            for entry in page.entries
        )
        return ListedFolder(page, listed)

    async def file(self, principal: Principal, chat_id: str, path: str, *, reveal: bool) -> ShownFile:
        """Returns a file as it is now. With `reveal` the person has asked to see a protected content.

        Raises: NotFound, BadWorkspace, OutsideWorkspace, WrongKind.
        """
        chat, workspace, hidden = await self._open(principal, chat_id)
        try:
            content = await self._browser.file(workspace, path)
        except FileMissing:
            raise NotFound("file", shown_name(path)) from None
        protection = protection_of(content.path, hidden)
        recorded = (await self._recorded.of(chat)).paths.get(content.path)
        by = who_changed(
            recorded,
            size=content.size,
            modified=content.modified,
            chat_began=_nanoseconds(chat.created_at),
            ignored=False,
        )
        return ShownFile(content, by, protection, withheld=protection is not None and not reveal)

    async def _open(self, principal: Principal, chat_id: str) -> tuple[Chat, Folder, HiddenPathRules]:
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        return chat, workspace, await self._policy.hidden(chat_id, workspace.origin)


def protection_of(path: str, hidden: HiddenPathRules) -> Protection | None:
    """Returns why the content of this path is shown only after a click; None for every ordinary file."""
    if hidden.may_be_told(path, ContentReader.DECIDER) is Telling.TOLD:
        return None
    return Protection.RULE if hidden.hides(path) else Protection.KEY_FILE


def _changed_by(entry: FolderEntry, recorded: RecordedPaths, chat_began: int) -> ChangedBy | None:
    path = entry.path or ""
    if entry.kind == "folder":
        return recorded.folders.get(path)
    return who_changed(
        recorded.paths.get(path), size=entry.size, modified=entry.modified, chat_began=chat_began, ignored=entry.ignored
    )


def _nanoseconds(written: str) -> int:
    """Returns nanoseconds since 1970; the far future for a stored time that cannot be read, so that nothing counts as newer."""
    try:
        since = datetime.fromisoformat(written) - _1970
    except (ValueError, TypeError):
        return 1 << 63
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000


def _time(nanoseconds: int) -> str | None:
    """Returns None for a time that no calendar has: a file's times are whatever somebody set."""
    try:
        return written_time(_1970 + timedelta(microseconds=nanoseconds // 1_000))
    except OverflowError:
        return None
