"""The guide's plans: looking first, then writing down the wishes as steps that a person can judge, edit and approve. Pure."""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import assert_never

from pydantic import JsonValue

from anycowork.domain.messages import Json
from anycowork.domain.plan import FORMAT_VERSION, Plan, PlanStep
from anycowork.domain.tasks import TaskGraph
from anycowork.providers.guide.actions import act, ask, do
from anycowork.providers.guide.conversation import CallOutcome, Heard
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
from anycowork.providers.guide.moves import Document, GuideChoice, GuideQuestion, Move, Script
from anycowork.providers.guide.phrases import ResultSummary, summary
from anycowork.providers.guide.request_parser import understand

_SOON = "a few seconds"


def propose(goal: str, wishes: Sequence[Intent]) -> Script:
    """Looks around, reads what is to be changed, and answers with a plan."""
    listing = yield from do("list_directory", {"path": "."})
    seen: dict[str, CallOutcome] = {}
    for path in dict.fromkeys(
        wish.path for wish in wishes if isinstance(wish, ReplaceTextIntent | AppendLineIntent | ReadFileIntent)
    ):
        seen[path] = yield from do("read_file", {"path": path})
    steps: list[JsonValue] = [_step(number, wish) for number, wish in enumerate(wishes, 1)]
    risks: list[JsonValue] = [risk for wish in wishes if (risk := _risk(wish, listing, seen))]
    return Document(
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


def carry_out(plan: Plan) -> Script:
    """The approved steps in an order that their dependencies allow. A step that fails is asked about, never passed over."""
    told: list[ResultSummary] = []
    order = _in_order(plan)
    for position, step in enumerate(order):
        one = yield from _carry_out_step(step)
        told.append(one)
        if one.ok:
            continue
        left = order[position + 1 :]
        if not left or one.answered or (yield from ask(_go_on(step, one))) == "stop":
            return summary(told, [later.action for later in left])
    return summary(told, [])


def _carry_out_step(step: PlanStep) -> Generator[Move, Heard, ResultSummary]:
    wishes = _wishes_of(step)
    if not wishes:
        return ResultSummary(False, f"Not done: I do not understand the step “{step.action}”.")
    parts: list[ResultSummary] = []
    for wish in wishes:
        one = yield from act(wish, approved=True)
        parts.append(one)
        if not one.ok:
            break
    return ResultSummary(
        ok=all(one.ok for one in parts),
        words="\n".join(one.words for one in parts),
        answered=any(one.answered for one in parts),
    )


def _wishes_of(step: PlanStep) -> tuple[Intent, ...]:
    """The action is the truth, as a person may have edited it; a step in other words still names its commands."""
    request = understand(step.action)
    wishes = request.wishes if not request.unclear else tuple(RunCommandIntent(command) for command in step.commands)
    check = (RunCommandIntent(step.check),) if step.check and wishes else ()
    return (*wishes, *check)


def _in_order(plan: Plan) -> list[PlanStep]:
    graph = TaskGraph.of({step.id: step.dependencies for step in plan.steps})
    steps = {step.id: step for step in plan.steps}
    order: list[str] = []
    while ready := graph.ready(order):
        order.append(ready[0])
    return [steps[step_id] for step_id in order]


def _go_on(step: PlanStep, told: ResultSummary) -> GuideQuestion:
    return GuideQuestion(
        question=f"Step {step.step_number} of the plan did not work. Go on with the next one?",
        context=told.words,
        choices=(
            GuideChoice("go_on", "Go on", "Carry out the remaining steps all the same"),
            GuideChoice("stop", "Stop here", "Leave the remaining steps undone"),
        ),
    )


# --- one wish as a step


def _step(number: int, wish: Intent) -> Json:
    reason, needed = _why(wish)
    commands: list[JsonValue] = [wish.command] if isinstance(wish, RunCommandIntent) else []
    return {
        "id": str(number),
        "step_number": number,
        "action": phrase(wish),
        "reason": reason,
        "tools_needed": list[JsonValue](needed),
        "estimated_time": _SOON if not commands else "as long as the command takes",
        "dependencies": [str(number - 1)] if number > 1 else [],
        "paths": list[JsonValue](paths_of(wish)),
        "commands": commands,
    }


def _why(wish: Intent) -> tuple[str, tuple[str, ...]]:
    """The reason, and the permissions that it takes."""
    match wish:
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
            assert_never(wish)


def _risk(wish: Intent, listing: CallOutcome, seen: Mapping[str, CallOutcome]) -> str | None:
    match wish:
        case CreateFileIntent() if listing.ok and _listed(wish.path, listing.text):
            return f"{wish.path} exists already: creating it will be refused."
        case MoveFileIntent() if listing.ok and _listed(wish.to, listing.text):
            return f"{wish.to} exists already: nothing is overwritten, so the move will be refused."
        case ReplaceTextIntent() if seen[wish.path].ok and wish.old not in seen[wish.path].text:
            return f"“{wish.old}” does not occur in {wish.path}, as far as I was shown it."
        case ReplaceTextIntent() | AppendLineIntent() | ReadFileIntent() if not seen[wish.path].ok:
            return f"{wish.path} could not be read: {' '.join(seen[wish.path].text.split())[:200]}"
        case DeleteFileIntent():
            return f"{wish.path} will be gone from the workspace."
        case RunCommandIntent():
            return f"I do not know what `{wish.command}` does; read it before you approve."
        case _:
            return None


def _listed(path: str, listing: str) -> bool:
    return re.search(rf"^{re.escape(path.removeprefix('./'))}/?$", listing, re.MULTILINE) is not None
