"""Makes and executes the guide's plans: reads first, then writes the intents as steps that a person can review, edit and approve. Pure."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import assert_never

from pydantic import JsonValue

from anycowork.domain.messages import Json
from anycowork.domain.plan import FORMAT_VERSION, Plan, PlanStep, TaskGraph
from anycowork.providers.guide.actions import GuideChoice, GuideDocument, GuideQuestion, Move, Script, act, ask, do
from anycowork.providers.guide.conversation import CallOutcome, Observation
from anycowork.providers.guide.grammar import understand
from anycowork.providers.guide.intents import (
    AppendLineIntent,
    CreateFileIntent,
    DeleteFileIntent,
    Intent,
    ListFilesIntent,
    MoveFileIntent,
    ReadFileIntent,
    ReplaceTextIntent,
    ReviewFileIntent,
    RunCommandIntent,
    SearchIntent,
    paths_of,
    phrase,
)
from anycowork.providers.guide.phrases import ResultSummary, summary, why_not

_SOON = "a few seconds"


def propose(goal: str, intents: Sequence[Intent]) -> Script:
    """Lists files, reads those that are to be changed, and answers with a plan."""
    listing = yield from do("list_directory", {"path": "."})
    seen: dict[str, CallOutcome] = {}
    for path in dict.fromkeys(_read_first(intents)):
        seen[path] = yield from do("read_file", {"path": path})
    steps: list[JsonValue] = [_step(number, intent) for number, intent in enumerate(intents, 1)]
    created = _made_paths(intents)
    risks: list[JsonValue] = [
        risk for intent, before in zip(intents, created, strict=True) if (risk := _risk(intent, listing, seen, before))
    ]
    return GuideDocument(
        {
            "type": "plan",
            "format_version": FORMAT_VERSION,
            "goal": goal,
            "steps": steps,
            "estimated_total_time": _SOON,
            "risks": risks,
            "prerequisites": [],
        }
    )


def _read_first(intents: Sequence[Intent]) -> Iterator[str]:
    """The files that a step needs and no step before it makes."""
    for intent, created in zip(intents, _made_paths(intents), strict=True):
        if isinstance(intent, ReplaceTextIntent | AppendLineIntent | ReadFileIntent) and intent.path not in created:
            yield intent.path


def _made_paths(intents: Sequence[Intent]) -> list[frozenset[str]]:
    """For each intent, the paths that those before it create or move a file to."""
    created: list[frozenset[str]] = [frozenset()]
    for intent in intents:
        match intent:
            case CreateFileIntent():
                new = {intent.path}
            case MoveFileIntent():
                new = {intent.to}
            case _:
                new = set[str]()
        created.append(created[-1] | new)
    return created[:-1]


def execute(plan: Plan) -> Script:
    """Executes the approved steps in dependency order. If a step fails, it asks the person; it never skips one silently."""
    results: list[ResultSummary] = []
    order = _in_order(plan)
    for position, step in enumerate(order):
        result = yield from _execute_step(step)
        results.append(result)
        if result.ok:
            continue
        remaining = order[position + 1 :]
        if not remaining or result.answered or (yield from ask(_go_on(step, result))) == "stop":
            return summary(results, [later.action for later in remaining])
    return summary(results, [])


def _execute_step(step: PlanStep) -> Generator[Move, Observation, ResultSummary]:
    intents = _intents_of(step)
    if not intents:
        return ResultSummary(False, f"Not done: I do not understand the step “{step.action}”.")
    parts: list[ResultSummary] = []
    for intent in intents:
        result = yield from act(intent, approved=True)
        parts.append(result)
        if not result.ok:
            break
    return ResultSummary(
        ok=all(result.ok for result in parts),
        text="\n".join(result.text for result in parts),
        answered=any(result.answered for result in parts),
    )


def _intents_of(step: PlanStep) -> tuple[Intent, ...]:
    """Parses the action, which a person may have edited; if it cannot be parsed, the step's commands still count."""
    request = understand(step.action)
    intents = request.intents if not request.unclear else tuple(RunCommandIntent(command) for command in step.commands)
    check = (RunCommandIntent(step.check),) if step.check and intents else ()
    return (*intents, *check)


def _in_order(plan: Plan) -> list[PlanStep]:
    graph = TaskGraph.of({step.id: step.dependencies for step in plan.steps})
    steps = {step.id: step for step in plan.steps}
    order: list[str] = []
    while ready := graph.ready(order):
        order.append(ready[0])
    return [steps[step_id] for step_id in order]


def _go_on(step: PlanStep, results: ResultSummary) -> GuideQuestion:
    return GuideQuestion(
        question=f"Step {step.step_number} of the plan did not work. Go on with the next one?",
        context=results.text,
        choices=(
            GuideChoice("go_on", "Go on", "Carry out the remaining steps all the same"),
            GuideChoice("stop", "Stop here", "Leave the remaining steps undone"),
        ),
    )


# --- one intent as a step


def _step(number: int, intent: Intent) -> Json:
    reason, needed = _why(intent)
    commands: list[JsonValue] = [intent.command] if isinstance(intent, RunCommandIntent) else []
    return {
        "id": str(number),
        "step_number": number,
        "action": phrase(intent),
        "reason": reason,
        "tools_needed": list[JsonValue](needed),
        "estimated_time": _SOON if not commands else "as long as the command takes",
        "dependencies": [str(number - 1)] if number > 1 else [],
        "paths": list[JsonValue](paths_of(intent)),
        "commands": commands,
    }


def _why(intent: Intent) -> tuple[str, tuple[str, ...]]:
    """Returns the reason, and the permissions that it needs."""
    match intent:
        case ListFilesIntent() | ReadFileIntent() | ReviewFileIntent() | SearchIntent():
            return "You asked to see it.", ("read_files",)
        case CreateFileIntent():
            return "You asked for this file.", ("create_files",)
        case ReplaceTextIntent() | AppendLineIntent():
            return "You asked for this change.", ("read_files", "write_files")
        case DeleteFileIntent():
            return "You asked to have it deleted.", ("read_files", "delete_files")
        case MoveFileIntent():
            return "You asked for the new place or name.", ("read_files", "create_files", "delete_files")
        case RunCommandIntent():
            return "You asked to run it.", ("execute_commands",)
        case _:
            assert_never(intent)


def _risk(intent: Intent, listing: CallOutcome, seen: Mapping[str, CallOutcome], created: frozenset[str]) -> str | None:
    """`created` are the paths that earlier steps make: nobody has read those."""
    match intent:
        case ReplaceTextIntent() | AppendLineIntent() | ReadFileIntent() if intent.path in created:
            return None
        case CreateFileIntent() if listing.ok and _listed(intent.path, listing.text):
            return f"{intent.path} exists already: creating it will be refused."
        case MoveFileIntent() if listing.ok and _listed(intent.to, listing.text):
            return f"{intent.to} exists already: nothing is overwritten, so the move will be refused."
        case ReplaceTextIntent() if seen[intent.path].ok and intent.old not in seen[intent.path].text:
            return f"“{intent.old}” does not occur in {intent.path}, as far as I was shown it."
        case ReplaceTextIntent() | AppendLineIntent() | ReadFileIntent() if not seen[intent.path].ok:
            return f"{intent.path} could not be read: {why_not(seen[intent.path].text)}"
        case DeleteFileIntent():
            return f"{intent.path} will be gone from the workspace."
        case RunCommandIntent():
            return f"I do not know what `{intent.command}` does; read it before you approve."
        case _:
            return None


def _listed(path: str, listing: str) -> bool:
    return re.search(rf"^{re.escape(path.removeprefix('./'))}/?$", listing, re.MULTILINE) is not None
