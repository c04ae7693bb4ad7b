"""What a person agrees to: the hash that binds an approval to one call, and what an approved plan's steps grant. Pure."""

import hashlib
from collections.abc import Iterable

import msgspec

from anycowork.domain.approvals import Approval
from anycowork.domain.disclosure import Disclosure, call_items
from anycowork.domain.origins import Endorsement
from anycowork.domain.path_class import is_control_file
from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent, ToolSpec
from anycowork.domain.visible_text import UntrustedText, visible
from anycowork.permissions.patterns import path_matches, plain

_AGENT = "agent:"  # begins the resource of a call that gives a task to another agent


def bind(
    call: Call,
    prepared: Prepared,
    role: RoleDefinition,
    principal: str,
    held_intent: Intent | None = None,
    endorsement: Endorsement | None = None,
) -> str:
    """Returns the hash of exactly what is shown: call, resolved resource, role, principal, state of the file, and disclosure.

    It covers the origins and sinks of an endorsement: a turn that has read more since asks again.
    For held changes it also covers the state of each path before and after, and where the changes are staged.
    """
    described = (
        call.tool,
        call.parameters,
        prepared.resource,
        prepared.state,
        role.name,
        principal,
    )
    bound_values: list[object] = [*described, disclose(call, prepared, held_intent).hash]
    if held_intent is not None:
        bound_values += [call.id, held_intent.staged, held_intent.paths]
    if endorsement is not None:
        bound_values += [endorsement.origins, endorsement.sinks]
    return hashlib.sha256(msgspec.json.encode(bound_values, order="sorted")).hexdigest()


def disclose(call: Call, prepared: Prepared, held_intent: Intent | None) -> Disclosure:
    """Returns everything that allowing this call, or its held changes, grants."""
    diff = held_intent.held.diff if held_intent and held_intent.held else prepared.diff
    items = call_items(
        call.tool,
        call.parameters,
        prepared.resource,
        network=map(str, prepared.network),
        paths=prepared.touched or _granted_paths(call, prepared),
        changes=held_intent.paths if held_intent else (),
        drawn=held_intent is None and diff is not None,
    )
    return Disclosure(items, visible(UntrustedText(diff)) if diff is not None else None)


def _granted_paths(call: Call, prepared: Prepared) -> tuple[str, ...]:
    """Returns the files that an agent may change without asking again, if a person allows to give it this task."""
    paths = call.parameters.get("paths") if prepared.resource.startswith(_AGENT) else None
    return tuple(path for path in paths if isinstance(path, str)) if isinstance(paths, list) else ()


def denial(approval: Approval) -> str:
    """Returns the text that tells the model about a denied approval."""
    note = f" They said: “{approval.note}”" if approval.note else ""
    return f"The person denied this call ({approval.tool} on {approval.resource}).{note} Do not try it again; find another way or ask."


def granted_by(plan: Plan, spec: ToolSpec, call: Call, prepared: Prepared) -> str | None:
    """Returns the id of the step that the call belongs to, if this step grants it; else None."""
    step = plan.step(call.plan_step) if call.plan_step is not None else None
    return step.id if step is not None and _names(step, spec, call, prepared) else None


def not_granted_reason(plan: Plan, spec: ToolSpec, call: Call) -> str:
    """Returns why a person is asked about a call that its plan does not grant."""
    step = plan.step(call.plan_step) if call.plan_step is not None else None
    if step is None:
        return "It is outside the approved plan."
    if spec.foreign:
        return f"It is not granted by the approved plan: {_foreign_reason(step, spec, call)}"
    if step.tools_needed and not (spec.runs_commands or names_tool(step, spec)):
        return (
            f"It is not granted by the approved plan: step {step.id[:80]} allows {', '.join(step.tools_needed)[:200]},"
            f" and this needs {_missing(step, spec)}."
        )
    return (
        f"It is not granted by the approved plan: it belongs to step {step.id[:80]}, which does not name exactly this."
    )


def _foreign_reason(step: PlanStep, spec: ToolSpec, call: Call) -> str:
    """Returns why a step does not grant this call of a third-party tool."""
    planned_calls = [planned for planned in step.calls if planned.tool == spec.name]
    if spec.server is None:
        return f"no plan grants '{spec.name}', because what it does is known only after it has run."
    if spec.layered:
        return f"no plan grants '{spec.name}', because what it changes in the workspace is known only after it has run."
    if not planned_calls:
        return f"step {step.id[:80]} does not name a call of '{spec.name}' with its arguments."
    allowed = "; or ".join(planned.fixed.describe() for planned in planned_calls)[:500]
    others = ", ".join(planned_calls[0].fixed.differing(call.parameters))[:200]
    return f"step {step.id[:80]} allows '{spec.name}' {allowed}. This call differs in {others}."


def names_call(step: PlanStep, call: Call) -> bool:
    """Whether the step names this call of a server's tool with its arguments."""
    return any(planned.tool == call.tool and planned.fixed.admit(call.parameters) for planned in step.calls)


def names_literally(plan: Plan, step_id: str, call: Call) -> bool:
    """Whether the step names every argument of this call of a server's tool with its value."""
    step = plan.step(step_id)
    literal = [planned for planned in step.calls if not planned.text] if step is not None else []
    return any(planned.tool == call.tool and planned.fixed.admit(call.parameters) for planned in literal)


def _missing(step: PlanStep, spec: ToolSpec) -> str:
    """Returns the names of the permissions that the step would have to name, or of the tool."""
    missing = spec.permissions - permissions_named(step.tools_needed) - {Permission.READ_FILES}
    return ", ".join(sorted(missing)) if missing and not spec.asks_agents else spec.name


def _names(step: PlanStep, spec: ToolSpec, call: Call, prepared: Prepared) -> bool:
    if spec.foreign:
        # What others change is known only after they have run, so approving the plan did not approve it. What a server's tool does
        # elsewhere is in its arguments.
        return spec.server is not None and not spec.layered and names_call(step, call)
    if spec.runs_commands:
        return not prepared.key_files and call.parameters.get("command") in (*step.commands, step.check)
    return names_tool(step, spec) and _all_paths_named(step, prepared)


def names_tool(step: PlanStep, spec: ToolSpec) -> bool:
    """Whether the step grants this tool. A planner cannot know the tools it lacks, so a step may name permissions instead, in full
    or by their first word (`write`).

    A step that names neither grants every tool on its paths, except deleting, which must be named. Giving a task to another agent must be
    named by the tool itself.
    """
    if spec.asks_agents:
        return spec.name in step.tools_needed
    if not step.tools_needed:
        return Permission.DELETE_FILES not in spec.permissions
    return spec.name in step.tools_needed or spec.permissions <= {
        Permission.READ_FILES,
        *permissions_named(step.tools_needed),
    }


def owns_tool(step: PlanStep, spec: ToolSpec) -> bool:
    """Whether the step names the tool, or a permission that the tool needs. Reading is included in every other permission."""
    permissions = permissions_named(step.tools_needed) if not spec.asks_agents else set()
    covered = spec.permissions <= {Permission.READ_FILES, *permissions} and not permissions.isdisjoint(spec.permissions)
    return spec.name in step.tools_needed or covered


def permissions_named(tools_needed: Iterable[str]) -> set[Permission]:
    """Returns the permissions among these names, written in full or by their first word."""
    needed = set(tools_needed)
    return {
        permission
        for permission in Permission
        if permission.value in needed or permission.value.partition("_")[0] in needed
    }


def _all_paths_named(step: PlanStep, prepared: Prepared) -> bool:
    """Whether the step names every path that would change, as resolved inside the workspace, not as the model wrote it."""
    intended = {item.path for item in prepared.intent.paths} if prepared.intent else set()
    touched = {prepared.resource, *prepared.others, *intended} if prepared.intent else intended
    return bool(touched) and all(any(_means(pattern, path) for pattern in step.paths) for path in touched)


def _means(pattern: str, path: str) -> bool:
    """Whether the pattern grants this path. Control files must be named: a person who approves `**` does not think of them."""
    return names_file(pattern, path) if is_control_file(path) else path_matches(pattern, path)


def names_file(pattern: str, path: str) -> bool:
    """Whether the pattern names exactly this file, or a control folder around it. A pattern with wildcards names no file.

    `docs/` does not name `docs/.vscode/tasks.json`: a person who approves `docs/` does not think of that file.
    """
    if any(sign in pattern for sign in "*?") or not path_matches(pattern, path):
        return False
    return plain(pattern.strip()) == plain(path) or is_control_file(plain(pattern.strip()))
