"""Matches calls to the steps of an approved plan. A step that names the call's paths or command comes first; a step that names only
tools or permissions gets the calls of these tools, but grants none of them. Pure."""

from collections.abc import Collection, Iterable, Sequence

from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.tools import Call, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.grants import names_tool, owns_tool, permissions_named
from anycowork.permissions.patterns import is_literal, path_matches, plain
from anycowork.permissions.resources import resources_at_commit


@value
class StepCandidates:
    """The steps that a call may belong to, in plan order: those that name its path or command, and those that name only its tool."""

    by_place: Sequence[PlanStep] = ()
    by_tool: Sequence[PlanStep] = ()


class StepMatcher:
    """Finds the steps of one plan that a call may belong to, with an index for long plans. `root` is the workspace folder."""

    def __init__(self, plan: Plan, specs: Iterable[ToolSpec], root: str) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._root = root
        self._order = {step.id: place for place, step in enumerate(plan.steps)}
        self._named = _tools_named(plan, self._specs.values())
        self._literal: dict[str, list[PlanStep]] = {}
        self._patterns: list[tuple[str, PlanStep]] = []
        self._commands: dict[str, list[PlanStep]] = {}
        self._by_tool: dict[str, list[PlanStep]] = {}
        self._with_work: set[str] = set()
        self._guessed = _steps_with_unknown_tools(plan, self._specs)
        for step in plan.steps:
            self._index(step)

    def candidates(self, call: Call) -> StepCandidates:
        spec = self._specs.get(call.tool)
        if spec is None:
            return StepCandidates()
        by_tool = self._by_tool.get(spec.name, ())
        if spec.runs_commands:
            return StepCandidates(self._commands.get(str(call.parameters.get("command")), ()), by_tool)
        touched = resources_at_commit(call.tool, spec, call.parameters, None, self._root)
        paths = touched.paths if touched else ()
        return StepCandidates(
            [step for step in self._at(paths) if names_tool(step, spec) or step.id in self._guessed], by_tool
        )

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
        if step.paths or step.commands or step.check or self._named[step.id]:
            self._with_work.add(step.id)
        for path in dict.fromkeys(step.paths):
            if is_literal(path):
                self._literal.setdefault(plain(path.strip()), []).append(step)
            else:
                self._patterns.append((path, step))
        for command in dict.fromkeys((*step.commands, *([step.check] if step.check else []))):
            self._commands.setdefault(command, []).append(step)
        for name in self._named[step.id]:
            free = not step.commands if self._specs[name].runs_commands else not step.paths
            if free:
                self._by_tool.setdefault(name, []).append(step)

    def _at(self, paths: Sequence[str]) -> list[PlanStep]:
        """Return the steps that name all these paths."""
        if not paths:
            return []
        found = [{step.id: step for step in self._at_one(path)} for path in paths]
        common = [step for step_id, step in found[0].items() if all(step_id in other for other in found[1:])]
        return sorted(common, key=lambda step: self._order[step.id])

    def _at_one(self, path: str) -> Iterable[PlanStep]:
        yield from self._literal.get(plain(path), ())
        yield from (step for pattern, step in self._patterns if path_matches(pattern, path))


def _tools_named(plan: Plan, specs: Iterable[ToolSpec]) -> dict[str, tuple[str, ...]]:
    """Map each step to the tools that it names, directly or by permission. Steps with the same needs are computed once."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    specs = tuple(specs)
    for step in plan.steps:
        if step.tools_needed not in known:
            known[step.tools_needed] = tuple(spec.name for spec in specs if owns_tool(step, spec))
    return {step.id: known[step.tools_needed] for step in plan.steps}


def _steps_with_unknown_tools(plan: Plan, specs: Collection[str]) -> frozenset[str]:
    """Return the steps that name a tool which does not exist: a planner guesses the names of the tools that it lacks. Such a step gets
    the calls on its paths, but grants none of them."""
    known = {needs: _all_known(needs, specs) for needs in {step.tools_needed for step in plan.steps}}
    return frozenset(step.id for step in plan.steps if not known[step.tools_needed])


def _all_known(names: Iterable[str], specs: Collection[str]) -> bool:
    return all(name in specs or permissions_named((name,)) for name in names)
