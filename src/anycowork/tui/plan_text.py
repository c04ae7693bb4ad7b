"""Renders a plan for a terminal: what each step does and may touch, and beside it how it stands. Pure."""

from collections.abc import Mapping

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from anycowork.client.console import strip_controls
from anycowork.client.disclosures import planned_call_text
from anycowork.domain.messages import Json, json_object, json_objects

StepStates = Mapping[str, str]

_STEP_WORDS = {
    "open": "not done",
    "running": "at work",
    "done": "done",
    "claimed": "claimed (only the agent says so)",
    "failed": "failed",
    "skipped": "skipped",
}
_STEP_SIGNS = {"running": "●", "done": "✓", "claimed": "”", "failed": "✗", "skipped": "–"}
_STEP_STYLES = {"running": "bold", "done": "green", "failed": "bold red", "skipped": "yellow"}
_PERMISSIONS = {
    "read_files": "Read files",
    "write_files": "Change files",
    "create_files": "Create files",
    "delete_files": "Delete files",
    "execute_commands": "Run commands",
}


def plan_text(plan: Json, states: StepStates | None = None) -> RenderableType:
    """`states` are the steps' statuses by id, once the plan was approved."""
    lines: list[RenderableType] = [Text(f"Plan: {strip_controls(str(plan.get('goal')))}", style="bold")]
    steps = json_objects(plan.get("steps"))
    numbers = {str(step.get("id")): number for number, step in enumerate(steps, start=1)}
    for number, step in enumerate(steps, start=1):
        lines.append(_step_line(number, step, states))
        lines.append(_details(step, numbers))
    notes = [
        *(("risk", risk) for risk in _words(plan, "risks")),
        *(("before", prerequisite) for prerequisite in _words(plan, "prerequisites")),
        *(("budget", f"{name} {strip_controls(str(most))}") for name, most in json_object(plan.get("budget")).items()),
    ]
    if time := plan.get("estimated_total_time"):
        notes.append(("in all", strip_controls(str(time))))
    return Group(*lines, _named_lines(notes, indent=1))


def plan_standing(plan: Json) -> str | None:
    """A line for each step of a plan whose run is over: how it stands, in the server's words, and what it was; None while it goes on."""
    if plan.get("status") not in ("done", "blocked"):
        return None
    steps = [
        f"  {strip_controls(str(step.get('id')))} {_STEP_WORDS.get(str(step.get('status')), 'open')}{_action_of(step)}"
        for step in json_objects(plan.get("steps"))
    ]
    return "\n".join([f"Plan {plan['status']}", *steps])


def approved_plan(update: Json) -> Json:
    """Returns the plan as it was approved, from its event or from the comparison with what was done."""
    steps: list[JsonValue] = [
        {**json_object(step.get("intended")), **step} for step in json_objects(update.get("steps"))
    ]
    return {**update, "steps": steps}


def step_states(update: Json) -> dict[str, str]:
    """Returns each step's status by its id."""
    return {str(step.get("id")): str(step.get("status")) for step in json_objects(update.get("steps"))}


def _action_of(step: Json) -> str:
    action = strip_controls(str(step.get("action") or "")).partition("\n")[0]
    return f": {action}" if action else ""


def _step_line(number: int, step: Json, states: StepStates | None) -> RenderableType:
    line = Table.grid(expand=True, padding=(0, 1))
    line.add_column(width=3, justify="right")
    line.add_column(ratio=1)
    line.add_column(no_wrap=True, justify="right")
    line.add_row(Text(f"{number}."), Text(strip_controls(str(step.get("action")))), _state_text(step, states))
    return line


def _state_text(step: Json, states: StepStates | None) -> Text:
    if states is None:
        return Text()
    state = states.get(str(step.get("id")), "open")
    sign = _STEP_SIGNS.get(state)
    state_name = _STEP_WORDS.get(state, state)
    return Text(f"{sign} {state_name}" if sign else state_name, style=_STEP_STYLES.get(state, "dim"))


def _details(step: Json, numbers: Mapping[str, int]) -> RenderableType:
    """Why the step is there, what it may touch (approving it allows that), how long it takes and what it comes after."""
    after = ", ".join(str(numbers.get(id_, id_)) for id_ in _words(step, "dependencies"))
    time = strip_controls(str(step.get("estimated_time") or ""))
    lines = [
        *(("may change", path) for path in _words(step, "paths")),
        *(("may run", command) for command in _words(step, "commands")),
        *([("proved by", strip_controls(str(step["check"])))] if step.get("check") else []),
        *(("may call", strip_controls(planned_call_text(planned))) for planned in json_objects(step.get("calls"))),
        *(("expected", line) for line in _words(step, "expect")),
        *([("needs", ", ".join(_permission_words(_words(step, "tools_needed"))))] if step.get("tools_needed") else []),
        *([("after", f"step {after}")] if after else []),
        *([("takes", time)] if time else []),
    ]
    reason = strip_controls(str(step.get("reason") or ""))
    return Group(*([Text(f"    {reason}", style="italic dim")] if reason else []), _named_lines(lines, indent=4))


def _permission_words(tools: list[str]) -> list[str]:
    return [_PERMISSIONS.get(tool, tool) for tool in tools]


def _named_lines(lines: list[tuple[str, str]], *, indent: int) -> RenderableType:
    """A column of names and one of what they name, in which a long line wraps below itself."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=14, no_wrap=True, style="dim")
    table.add_column()
    names = [name for name, _ in lines]
    for row, (name, text) in enumerate(lines):
        repeated = row > 0 and names[row - 1] == name
        table.add_row("" if repeated else " " * indent + name, Text(text))
    return table


def _words(fields: Json, name: str) -> list[str]:
    value = fields.get(name)
    return [strip_controls(str(item)) for item in value] if isinstance(value, list) else []
