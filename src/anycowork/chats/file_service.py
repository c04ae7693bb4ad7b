"""Shows a person the files of a chat's workspace. Nothing of it enters the chat or reaches a model."""

from anycowork.chats.lookup import require_chat
from anycowork.domain.files import FileBrowser, FoundPaths
from anycowork.domain.ports import Rules, Store, Workspaces
from anycowork.domain.principals import Principal, Scope
from anycowork.permissions.policy import PolicyEvaluator


class FileService:
    """Only a person (or the person's editor) browses files: a program with a read scope gets nothing through it."""

    def __init__(self, *, store: Store, rules: Rules, workspaces: Workspaces, browser: FileBrowser) -> None:
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._workspaces = workspaces
        self._browser = browser

    async def search(self, principal: Principal, chat_id: str, query: str, *, limit: int) -> FoundPaths:
        """Return files and folders whose names match, without ignored ones and ones that rules hide. Raises: NotFound, BadWorkspace."""
        principal.require(Scope.DECIDE)
        chat = await require_chat(self._store, chat_id)
        workspace = self._workspaces.open(chat.workspace)
        hidden = await self._policy.hidden(chat_id, workspace.origin)
        return await self._browser.search(workspace, query, limit=limit, hidden=hidden)
