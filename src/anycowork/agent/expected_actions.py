"""Checks whether the agent did what a request plainly asks for, by the request's verbs and file names. Pure.

It knows only English, and when in doubt it expects nothing.
"""

import re
from collections.abc import Callable
from enum import Enum, auto

from anycowork.domain.plan import Plan
from anycowork.domain.roles import OutputFormat, Permission, RoleDefinition

_RUNS = re.compile(r"\b(run|execute)\b", re.I)
_CHANGES = re.compile(
    r"\b(create|write|add|append|insert|rename|replace|change|set|fix|repair|correct|update|delete|remove|move|copy|sort|make|put|save|swap"
    r"|convert|turn|switch|enable|disable|raise|lower|increase|reduce|wrap|split|merge|round|drop|give(?! (me|us)\b))\b",
    re.I,
)
_MAKES = re.compile(r"\b(create|write|make|design|save)\b", re.I)
_QUESTION = re.compile(
    r"\s*(what|where|which|who|why|how|when|is|are|does|do|can|could|did|was|has|have|explain|describe|tell|show|summari[sz]e)\b",
    re.I,
)
_COUNTS = re.compile(r"\bhow (many|much)\b|\b(the|in) (sum|total|average)\b|\bcome to\b", re.I)
_TRIES = re.compile(r"\b(pass|passes|fail|fails|works?|tests?|runs?)\b", re.I)
_PLANS = re.compile(r"\s*(please )?plan\b", re.I)
_ASKS = re.compile(r"\s*(what|where|which|who|why|when|how (many|much|long|often|old|does|do|is|are|was))\b", re.I)
_CHANGE_NOTHING = re.compile(r"\b(do not|don't|without) chang(e|ing) anything\b|\bchange nothing\b", re.I)
# An intentionally empty file cannot be distinguished from one without its content.
_EMPTY = re.compile(r"\bempty\b", re.I)
_PATH = re.compile(r"(?<![\w/.-])(?:[\w-]+/)*(?:[\w-]{2,}\.[a-zA-Z]|[\w-]\.[a-zA-Z]\w)\w{0,4}(?![\w/(-])")  # not `e.g`
# A tool or a permission, as plans name them.
_WRITES = re.compile(r"(write|create|delete|update|edit|modify|move)", re.I)
_LONGEST_READ = 20_000  # characters of a request: what follows is text that somebody pasted
_MAY_CHANGE = {Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES, Permission.EXECUTE_COMMANDS}


class ExpectedAction(Enum):
    """What a request can plainly ask for. A command may also make a change."""

    RUN = auto()
    CHANGE = auto()
    PLAN = auto()


def asks_only(request: str) -> bool:
    """Whether the request is a plain question or forbids changes. `Can you …?` asks for an action."""
    request = request[:_LONGEST_READ]
    return bool(_CHANGE_NOTHING.search(request) or (_ASKS.match(request) and not _CHANGES.search(request)))


def not_tried(request: str, *, ran: bool, changed: bool, role: RoleDefinition) -> ExpectedAction | None:
    """Return the first action that the request asks for, if nothing like it was done.

    A question asks for no action, unless the role exists to try things.
    """
    request = request[:_LONGEST_READ]
    if _TRIES.search(request) and not ran and _only_runs(role):
        return ExpectedAction.RUN  # a role that only runs commands has not run any, however the request was worded
    if _PLANS.match(request) and role.output is OutputFormat.PLAN:
        return ExpectedAction.PLAN
    may_run = Permission.EXECUTE_COMMANDS in role.permissions
    if _QUESTION.match(request):  # a program should count, not the model
        return ExpectedAction.RUN if _COUNTS.search(request) and not ran and may_run else None
    runs, changes = _RUNS.search(request), None if asks_only(request) else _CHANGES.search(request)
    to_run = runs if not ran and may_run else None
    to_change = changes if not changed and _MAY_CHANGE & role.permissions else None
    if to_run and not (to_change and to_change.start() < to_run.start()):
        return ExpectedAction.RUN  # "save what it prints": in the order of the request
    return ExpectedAction.CHANGE if to_change else None


def _only_runs(role: RoleDefinition) -> bool:
    return _MAY_CHANGE & role.permissions == {Permission.EXECUTE_COMMANDS}


def not_begun(plan: Plan, *, ran: bool, changed: bool, role: RoleDefinition) -> ExpectedAction | None:
    """Like `not_tried`, for an approved plan: expect a change if it needs one, a run if it names commands."""
    writes = any(_WRITES.search(needed) for step in plan.steps for needed in step.tools_needed)
    wanted = any(step.paths or step.commands for step in plan.steps)
    begun = changed or (ran and not writes)
    return ExpectedAction.CHANGE if wanted and not begun and _MAY_CHANGE & role.permissions else None


def not_made(request: str, is_there: Callable[[str], bool]) -> list[str]:
    """Return the files that the request asks to create by name and that `is_there` does not find."""
    request = request[:_LONGEST_READ]
    if _QUESTION.match(request) or asks_only(request) or not _MAKES.search(request) or _EMPTY.search(request):
        return []
    return [path for path in paths_in(request) if not is_there(path)]


def paths_in(request: str) -> list[str]:
    """Return everything that looks like a file name or path, each once."""
    return list(dict.fromkeys(found[0] for found in _PATH.finditer(request, 0, _LONGEST_READ)))
