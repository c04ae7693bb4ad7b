"""Builds the JSON schema of all replies that a role may give, for models with constrained decoding. Pure.

It only shapes replies. The gate decides what may be done, whatever the schema allows.
"""

from collections.abc import Collection, Sequence

from pydantic import JsonValue

from anycowork.domain.messages import Json
from anycowork.domain.roles import OutputFormat, RoleDefinition
from anycowork.domain.tools import ToolSpec

ANSWER = "answer"  # the key that an answer in words comes under
# Keywords that are expensive in a decoder's grammar or only explain: parameters are validated again when the call is parsed.
_LEFT_OUT = frozenset(
    {"description", "default", "title", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum"}
)
_MOST_STEPS = 8
# Measured: a small model calls these where another tool was right, and then again.
_TEMPTING = frozenset({"get_file_info", "search_code"})
_TEXT: Json = {"type": "string", "minLength": 1}


def reply_schema(
    role: RoleDefinition,
    specs: Sequence[ToolSpec],
    *,
    brief: bool = False,
    without: Collection[str] = (),
    only: Collection[str] = (),
    others: Collection[str] = (),
) -> Json:
    """One branch for each form of each tool that the role grants, except those named in `without` (a tool, or `tool.parameter` for
    the forms that need it); then what the role may say, without a plan if `without` names that too: a small planner plans even
    what it was only asked.

    With `only` a call of one of these tools is all that can be said, or the role's document if it is named, if the role grants one of them.
    With `brief` a call has its required parameters alone: what a small model adds is wrong more often than useful.
    `others` are tools that the prompt only names: they share one branch that leaves their parameters open, so that two hundred of them make
    no grammar of two hundred branches.
    The same arguments give the same bytes.
    """
    calls: list[JsonValue] = [
        _call(spec.name, form, brief=brief)
        for spec in (callable_tools(role, specs) if brief else specs)
        if role.grants(spec.permissions) and spec.name not in without and spec.name not in others
        for form in (spec.forms or (spec.schema,))
        if not any(f"{spec.name}.{name}" in without for name in needed(form))
    ]
    open_calls = _open_call([name for name in others if name not in without], brief=brief)
    required_calls = [call for call in calls if _tool_of(call) in only]
    required_calls += _open_call([name for name in others if name in only and name not in without], brief=brief)
    required_calls += _documents(role) if role.output in only else []
    return {
        "anyOf": required_calls
        or [*calls, *open_calls, *([] if role.output in without else _documents(role)), _object({ANSWER: _TEXT})]
    }


def with_paths(schema: Json, form: str, paths: Sequence[str]) -> Json:
    """Returns the schema in which this form of a call (`tool.parameter`) can name only these paths."""
    replies = schema["anyOf"]
    assert isinstance(replies, list)
    return {"anyOf": [_with_paths(reply, form, paths) for reply in replies]}


def _with_paths(reply: JsonValue, form: str, paths: Sequence[str]) -> JsonValue:
    assert isinstance(reply, dict) and isinstance(reply["properties"], dict)
    tool, parameters = reply["properties"].get("tool"), reply["properties"].get("parameters")
    if not isinstance(tool, dict) or not isinstance(parameters, dict) or not isinstance(parameters["properties"], dict):
        return reply
    properties = parameters["properties"]
    if form not in {f"{tool.get('const')}.{name}" for name in properties}:
        return reply
    narrowed: Json = {**parameters, "properties": {**properties, "path": {"enum": [*paths]}}}
    return {**reply, "properties": {**reply["properties"], "parameters": narrowed}}


def _tool_of(call: JsonValue) -> JsonValue:
    assert isinstance(call, dict) and isinstance(call["properties"], dict)
    tool = call["properties"]["tool"]
    assert isinstance(tool, dict)
    return tool["const"]


def callable_tools(role: RoleDefinition, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Returns the tools that a small model in this role is offered."""
    return [spec for spec in specs if role.grants(spec.permissions) and spec.name not in _TEMPTING]


def _call(name: str, parameters: Json, *, brief: bool) -> Json:
    return _object(
        {"tool": {"const": name}, "parameters": _narrowed(parameters, brief=brief), "terminate": _ends(brief=brief)}
    )


def _open_call(names: Sequence[str], *, brief: bool) -> list[JsonValue]:
    if not names:
        return []
    return [_object({"tool": {"enum": [*names]}, "parameters": {"type": "object"}, "terminate": _ends(brief=brief)})]


def _ends(*, brief: bool) -> JsonValue:
    """A turn ends with an answer: a small model says `true` on its first call of three."""
    return {"const": False} if brief else {"type": "boolean"}


def _narrowed(schema: Json, *, brief: bool) -> JsonValue:
    bare = _bare(schema)
    assert isinstance(bare, dict)
    properties, names = bare.get("properties"), needed(bare)
    if not brief or not isinstance(properties, dict) or not names:
        return bare
    return {**bare, "properties": {name: properties[name] for name in names}, "required": [*names]}


def needed(schema: Json) -> list[str]:
    """Returns the required parameters of a call; if a tool requires none, its first one."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return []
    required_names = required if isinstance(required, list) else []
    return [name for name in properties if name in required_names] or list(properties)[:1]


def _bare(node: JsonValue, *, names: bool = False) -> JsonValue:
    """Strips the schema. `names`: the keys of this object are parameter names, not schema keywords."""
    if isinstance(node, list):
        return [_bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _bare(value, names=key == "properties") for key, value in node.items() if names or key not in _LEFT_OUT
    }


def _documents(role: RoleDefinition) -> list[JsonValue]:
    match role.output:
        case OutputFormat.PLAN:
            return [_tasks(role.delegates) if role.delegates else _plan()]
        case OutputFormat.REVIEW:
            return [_review()]
        case OutputFormat.TEXT:
            return [_question()]


def _plan() -> Json:
    step = _object(
        {
            "action": _TEXT,
            "tools_needed": _list({"enum": ["read", "write", "create", "delete", "execute"]}),
            "paths": _list(_TEXT),
            "commands": _list(_TEXT),
        }
    )
    return _object({"type": {"const": "plan"}, "goal": _TEXT, "steps": _list(step, least=1, most=_MOST_STEPS)})


def _tasks(delegates: Sequence[str]) -> Json:
    task = _object(
        {
            "id": _TEXT,
            "description": _TEXT,
            "dependencies": _list(_TEXT),
            "role": {"enum": [str(role) for role in delegates]},
        }
    )
    return _object({"type": {"const": "plan"}, "goal": _TEXT, "tasks": _list(task, least=1, most=_MOST_STEPS)})


def _review() -> Json:
    finding = _object(
        {"path": _TEXT, "severity": {"enum": ["critical", "major", "minor"]}, "problem": _TEXT, "suggestion": _TEXT}
    )
    return _object({"type": {"const": "review"}, "summary": _TEXT, "findings": _list(finding, most=_MOST_STEPS)})


def _question() -> Json:
    return _object({"type": {"const": "question"}, "question": _TEXT, "allow_custom": {"const": True}})


def _object(properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _list(items: Json, *, least: int = 0, most: int = _MOST_STEPS) -> Json:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}
