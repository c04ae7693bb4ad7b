"""Finds symbols of a chat's workspace by the beginning of their names, while a person types. Nothing of it enters the chat."""

import re
from itertools import pairwise

from anycowork.domain.errors import ToolFault
from anycowork.domain.messages import Json
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Toolbox, ToolContext
from anycowork.domain.values import value
from anycowork.domain.visible_text import bare_lines
from anycowork.permissions.policy import PolicyEvaluator
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder

SEARCH_WITH = "grep"
_KEYWORDS = frozenset(
    "class def fn func function fun struct enum interface trait type module namespace const let var val protocol object".split()  # noqa: SIM905
)
_WORD = re.compile(r"[\w$]+")
_LONGEST_LINE = 300


@value
class FoundSymbol:
    """A name that is defined in `path`, on the line `line`, with the keyword `kind`."""

    name: str
    kind: str
    path: str
    line: int

    def to_json(self) -> Json:
        return {"name": self.name, "kind": self.kind, "path": self.path, "line": self.line}


class SymbolService:
    """Searches with the agent's own tool, and leaves out what rules forbid to read."""

    def __init__(self, *, store: Store, rules: Rules, workspaces: Workspaces, toolbox: Toolbox) -> None:
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._workspaces = workspaces
        self._toolbox = toolbox

    async def search(self, principal: Principal, chat_id: str, query: str, *, limit: int) -> list[FoundSymbol]:
        """Returns the symbols whose names begin like this, the shortest first. Raises: NotFound, BadWorkspace."""
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        tool = self._toolbox.find(SEARCH_WITH)
        if tool is None or not _WORD.fullmatch(query):
            return []
        workspace = self._workspaces.open(chat.workspace)
        hidden = await self._policy.hidden(chat_id, workspace.origin)
        context = ToolContext(workspace, frozenset({Permission.READ_FILES}), hidden=hidden)
        pattern = rf"\b(?:{'|'.join(sorted(_KEYWORDS))})\s+{re.escape(query)}"
        try:
            prepared = await tool.prepare({"pattern": pattern, "case": "insensitive"}, context)
            result = await tool.run(prepared, context)
        except ToolFault:
            return []
        return symbols_in(result.content, query)[:limit]


def symbols_in(lines: str, query: str) -> list[FoundSymbol]:
    """Reads the definitions from lines like `path:12: def name(`; each name and place once. Pure."""
    symbols: dict[FoundSymbol, None] = {}
    for line in bare_lines(lines):
        location, _, text = line.partition(": ")
        path, _, number = location.rpartition(":")
        if not path or not number.isdecimal():
            continue
        identifiers = _WORD.findall(text[:_LONGEST_LINE])
        for keyword, name in pairwise(identifiers):
            if keyword.lower() in _KEYWORDS and name.lower().startswith(query.lower()):
                symbols[FoundSymbol(name, keyword.lower(), path, int(number))] = None
    return sorted(symbols, key=lambda symbol: (len(symbol.name), symbol.name, symbol.path, symbol.line))
