"""Matches calls to the steps of an approved plan, by what they do: `tools_needed` and `paths` are a planner's guess, so a call of the
same effect belongs to the step too. A step that names the call's path or command comes first, and all that another vendor's agent does
belongs to the step that names the agent. What a step grants is decided elsewhere. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.grants import names_call, names_tool, owns_tool, permissions_named
from anycowork.permissions.patterns import is_literal, may_lie_below, path_matches, plain
from anycowork.permissions.resources import resources_at_commit


class CallEffect(StrEnum):
    """What a call does, whichever tool does it."""

    READ = "read"
    CHANGE = "change"
    DELETE = "delete"
    RUN = "run"


_EFFECTS = {
    Permission.READ_FILES: CallEffect.READ,
    Permission.WRITE_FILES: CallEffect.CHANGE,
    Permission.CREATE_FILES: CallEffect.CHANGE,
    Permission.DELETE_FILES: CallEffect.DELETE,
    Permission.EXECUTE_COMMANDS: CallEffect.RUN,
}


@value
class StepCandidates:
    """The steps that a call may belong to, in plan order: those that name its path or command, and those that name only its effect."""

    by_resource: Sequence[PlanStep] = ()
    by_tool: Sequence[PlanStep] = ()


class StepMatcher:
    """Finds the steps of one plan that a call may belong to, with an index for long plans. `root` is the workspace folder."""

    def __init__(self, plan: Plan, specs: Iterable[ToolSpec], root: str) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._root = root
        self._steps = plan.steps
        self._order = {step.id: position for position, step in enumerate(plan.steps)}
        self._named = _tools_named(plan, self._specs.values())
        self._alike = _tools_alike(plan, self._specs, self._named)
        self._literal: dict[str, list[PlanStep]] = {}
        self._patterns: list[tuple[str, PlanStep]] = []
        self._commands: dict[str, list[PlanStep]] = {}
        self._by_tool: dict[str, list[PlanStep]] = {}
        self._by_call: dict[str, list[PlanStep]] = {}
        self._by_delegate: dict[str, list[PlanStep]] = {
            spec.delegate: [] for spec in self._specs.values() if spec.delegate
        }
        self._with_work: set[str] = set()
        self._guessed = _steps_with_unknown_tools(plan, self._specs)
        for step in plan.steps:
            self._index(step)

    def candidates(self, call: Call) -> StepCandidates:
        spec = self._specs.get(call.tool)
        if spec is None:
            return StepCandidates()
        by_tool = self._by_tool.get(spec.name, ())
        if spec.delegate is not None:
            return StepCandidates(self._by_delegate[spec.delegate], by_tool)
        if naming := self._by_call.get(spec.name):
            return StepCandidates([step for step in naming if names_call(step, call)], [*naming, *by_tool])
        if spec.runs_commands:
            return StepCandidates(self._commands.get(str(call.parameters.get("command")), ()), by_tool)
        touched = resources_at_commit(call.tool, spec, call.parameters, None, self._root)
        paths = touched.paths if touched else ()
        steps = self._at(paths) or (self._around(paths) if spec.looks_below else [])
        return StepCandidates([step for step in steps if self._may_own(step, spec)], by_tool)

    def at_changed(self, paths: Iterable[str]) -> list[PlanStep]:
        """Returns the steps that name one of these changed files, in plan order."""
        steps = {step.id: step for path in paths for step in self._at_one(path)}
        return sorted(steps.values(), key=lambda step: self._order[step.id])

    def _may_own(self, step: PlanStep, spec: ToolSpec) -> bool:
        """Whether a call of this tool on the step's paths is its work. Deleting must be named; a third-party tool must be as well."""
        must_be_named = effect_of(spec) is CallEffect.DELETE or spec.foreign
        return not must_be_named or names_tool(step, spec) or step.id in self._guessed

    def changes(self, call: Call) -> bool:
        """Whether the call's tool changes something or runs a command."""
        spec = self._specs.get(call.tool)
        return spec is None or not spec.read_only

    def completes(self, step: PlanStep, call: Call) -> bool:
        """Whether such a call completes the step. Reading does not, if the step names commands, tools that change things or unknown tools."""
        if self.changes(call):
            return True
        needs_more = bool(step.commands) or step.id in self._guessed
        return not needs_more and all(self._specs[name].read_only for name in self._named[step.id])

    def names_work(self, step: PlanStep) -> bool:
        """Whether any call could belong to the step. If not, only the model can report it as done."""
        return step.id in self._with_work

    def _index(self, step: PlanStep) -> None:
        if step.agent in self._by_delegate:
            self._by_delegate[step.agent].append(step)
        if step.paths or step.commands or step.check or self._named[step.id] or step.agent in self._by_delegate:
            self._with_work.add(step.id)
        for tool in dict.fromkeys(planned.tool for planned in step.calls):
            self._with_work.add(step.id)
            self._by_call.setdefault(tool, []).append(step)
        for path in dict.fromkeys(step.paths):
            if is_literal(path):
                self._literal.setdefault(plain(path.strip()), []).append(step)
            else:
                self._patterns.append((path, step))
        for command in dict.fromkeys((*step.commands, *([step.check] if step.check else []))):
            self._commands.setdefault(command, []).append(step)
        for name in self._alike[step.id]:
            free = not step.commands if self._specs[name].runs_commands else not step.paths
            if free:
                self._by_tool.setdefault(name, []).append(step)

    def _at(self, paths: Sequence[str]) -> list[PlanStep]:
        """Returns the steps that name all these paths."""
        if not paths:
            return []
        steps_by_path = [{step.id: step for step in self._at_one(path)} for path in paths]
        common = [
            step for step_id, step in steps_by_path[0].items() if all(step_id in other for other in steps_by_path[1:])
        ]
        return sorted(common, key=lambda step: self._order[step.id])

    def _around(self, folders: Sequence[str]) -> list[PlanStep]:
        """Returns the steps that name a search and something at or below one of these folders: another search looks at it too."""
        return [
            step
            for step in self._steps
            if any(name in self._specs and self._specs[name].looks_below for name in step.tools_needed)
            and any(_lies_in(path, folder) for path in step.paths for folder in folders)
        ]

    def _at_one(self, path: str) -> Iterable[PlanStep]:
        yield from self._literal.get(plain(path), ())
        yield from (step for pattern, step in self._patterns if path_matches(pattern, path))


def _tools_named(plan: Plan, specs: Iterable[ToolSpec]) -> dict[str, tuple[str, ...]]:
    """Maps each step to the tools that it names, directly or by permission. Steps with the same needs are computed once."""
    tools_by_needs: dict[tuple[str, ...], tuple[str, ...]] = {}
    specs = tuple(specs)
    for step in plan.steps:
        if step.tools_needed not in tools_by_needs:
            tools_by_needs[step.tools_needed] = tuple(spec.name for spec in specs if owns_tool(step, spec))
    return {step.id: tools_by_needs[step.tools_needed] for step in plan.steps}


def _lies_in(pattern: str, folder: str) -> bool:
    return path_matches(pattern, folder) or may_lie_below(pattern, folder)


def effect_of(spec: ToolSpec) -> CallEffect:
    if spec.read_only:
        return CallEffect.READ
    if spec.runs_commands:
        return CallEffect.RUN
    changes = {Permission.CREATE_FILES, Permission.WRITE_FILES}
    return CallEffect.CHANGE if not changes.isdisjoint(spec.permissions) else CallEffect.DELETE


def _tools_alike(
    plan: Plan, specs: Mapping[str, ToolSpec], tools_by_step: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Maps each step to the tools that have an effect which it names, through a tool or a permission. A third-party tool is like none."""
    effects = {name: effect_of(spec) for name, spec in specs.items() if not spec.foreign}
    tools_by_needs: dict[tuple[str, ...], tuple[str, ...]] = {}
    for step in plan.steps:
        if step.tools_needed not in tools_by_needs:
            step_effects = {effects[name] for name in tools_by_step[step.id] if name in effects}
            step_effects |= {_EFFECTS[permission] for permission in permissions_named(step.tools_needed)}
            alike = [name for name, effect in effects.items() if effect in step_effects]
            tools_by_needs[step.tools_needed] = tuple(dict.fromkeys((*tools_by_step[step.id], *alike)))
    return {step.id: tools_by_needs[step.tools_needed] for step in plan.steps}


def _steps_with_unknown_tools(plan: Plan, specs: Collection[str]) -> frozenset[str]:
    """Returns the steps that name a tool which does not exist: a planner guesses the names of the tools that it lacks. Such a step gets
    the calls on its paths, but grants none of them."""
    all_known_by_needs = {needs: _all_known(needs, specs) for needs in {step.tools_needed for step in plan.steps}}
    return frozenset(step.id for step in plan.steps if not all_known_by_needs[step.tools_needed])


def _all_known(names: Iterable[str], specs: Collection[str]) -> bool:
    return all(name in specs or permissions_named((name,)) for name in names)
