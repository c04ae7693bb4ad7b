"""What an approved plan grants: exactly the tools and paths, and exactly the commands and checks, that its steps name. Pure."""

from anycowork.domain.control_files import is_control_file
from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.ports import Prepared
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, ToolSpec
from anycowork.permissions.patterns import path_matches, plain


def granted_by(plan: Plan, spec: ToolSpec, call: Call, prepared: Prepared) -> str | None:
    """The id of the step that the call belongs to, if this step grants it; else None."""
    step = plan.step(call.plan_step) if call.plan_step is not None else None
    return step.id if step is not None and _names(step, spec, call, prepared) else None


def not_granted_reason(plan: Plan, call: Call) -> str:
    """Why a person is asked about a call that its plan does not grant."""
    step = plan.step(call.plan_step) if call.plan_step is not None else None
    if step is None:
        return "It is outside the approved plan."
    return (
        f"It is not granted by the approved plan: it belongs to step {step.id[:80]}, which does not name exactly this."
    )


def _names(step: PlanStep, spec: ToolSpec, call: Call, prepared: Prepared) -> bool:
    if spec.foreign:
        return False  # what it will change is known only when it has run: nobody has approved that with a plan
    if spec.runs_commands:
        return call.parameters.get("command") in (*step.commands, step.check)
    return names_tool(step, spec) and _all_paths_named(step, prepared)


def names_tool(step: PlanStep, spec: ToolSpec) -> bool:
    """A planner cannot know the tools it lacks, so a step may name permissions instead, whole or by their first word (`write`).

    A step that names neither grants what its paths say; deleting is never meant without being named.
    """
    if not step.tools_needed:
        return Permission.DELETE_FILES not in spec.permissions
    return spec.name in step.tools_needed or spec.permissions <= {Permission.READ_FILES, *_permissions_named(step)}


def owns_tool(step: PlanStep, spec: ToolSpec) -> bool:
    """Whether the step itself names the tool, or a permission that the tool is for. Reading comes with every other permission."""
    named = _permissions_named(step)
    covered = spec.permissions <= {Permission.READ_FILES, *named} and not named.isdisjoint(spec.permissions)
    return spec.name in step.tools_needed or covered


def _permissions_named(step: PlanStep) -> set[Permission]:
    needed = set(step.tools_needed)
    return {each for each in Permission if each.value in needed or each.value.partition("_")[0] in needed}


def _all_paths_named(step: PlanStep, prepared: Prepared) -> bool:
    """Every path that would change must be named, as resolved inside the workspace, not as the model spelt it."""
    intended = {item.path for item in prepared.intent.paths} if prepared.intent else set()
    touched = {prepared.resource, *prepared.others, *intended} if prepared.intent else intended
    return bool(touched) and all(any(_means(pattern, path) for pattern in step.paths) for path in touched)


def _means(pattern: str, path: str) -> bool:
    """What steers others must be named: a person who approves `**` does not think of it."""
    return names_file(pattern, path) if is_control_file(path) else path_matches(pattern, path)


def names_file(pattern: str, path: str) -> bool:
    """Whether the pattern means this very file, or a folder of control files around it; one with wildcards names no file in particular.

    `docs/` does not name `docs/.vscode/tasks.json`: a person who approves it does not think of that.
    """
    if any(sign in pattern for sign in "*?") or not path_matches(pattern, path):
        return False
    return plain(pattern.strip()) == plain(path) or is_control_file(plain(pattern.strip()))
