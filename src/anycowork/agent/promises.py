"""Whether what a request plainly asks for was tried at all, by its verbs: a machine's check, never the model's own. Pure.

It knows English only and errs on the side of silence: what it does not recognise it does not miss.
"""

import re
from collections.abc import Collection

from anycowork.domain.roles import Permission, RoleDefinition

_QUESTION = re.compile(r"\s*(what|where|which|who|why|how|when|is|are|does|do|can|could|did|was|has|have)\b", re.I)
_CHANGES = {Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES, Permission.EXECUTE_COMMANDS}
_CHANGERS = {"create_file", "update_file", "move_file", "delete_file", "execute_command"}
_VERBS = (
    (r"run|execute", {"execute_command"}, {Permission.EXECUTE_COMMANDS}),
    (
        r"create|write|add|append|insert|rename|replace|change|set|fix|update|delete|remove|move|copy",
        _CHANGERS,
        _CHANGES,
    ),
)


_ASKS = re.compile(r"\s*(what|where|which|who|why|when|how (many|much|long|often|old|does|do|is|are|was))\b", re.I)
_HANDS_OFF = re.compile(r"\b(do not|don't|without) chang(e|ing) anything\b|\bchange nothing\b", re.I)


def asks_only(request: str) -> bool:
    """A plain question, or words that forbid a change. `Can you …?` asks for a deed."""
    if _HANDS_OFF.search(request):
        return True
    return bool(_ASKS.match(request)) and not any(
        re.search(rf"\b({verbs})\b", request, re.I) for verbs, *_ in _VERBS[1:]
    )


def not_tried(request: str, called: Collection[str], role: RoleDefinition) -> frozenset[str]:
    """The tools of which one must be called for a word of the request, where none was. A question asks for nothing."""
    if _QUESTION.match(request):
        return frozenset()
    for verbs, tools, permissions in _VERBS:
        found = re.search(rf"\b({verbs})\b", request, re.I)
        if found and permissions & role.permissions and not tools & set(called):
            return frozenset(tools)
    return frozenset()
