"""The guide as an agent of a job: does one task and reports, and tells the results at the end. Pure."""

import re
from collections.abc import Sequence

from anycowork.domain.text_lines import bare_lines
from anycowork.providers.guide.actions import act
from anycowork.providers.guide.conversation import CallOutcome, GuideConversation
from anycowork.providers.guide.intents import Intent, RunCommandIntent
from anycowork.providers.guide.moves import GuideDocument, Script, inert
from anycowork.providers.guide.phrases import WHO, ResultSummary, summary
from anycowork.providers.guide.request_parser import understand

_TASK = re.compile(r"Task [^:\n]{1,200}: ([^\n]+)\n")
_END = "End with your report."
_COMMANDS = "\n\nCommands of this task:\n"
_TOOL = "tasks"  # the results of a job stand as its result
_FINISHED = "All tasks of the job are finished."


def task_script(text: str) -> Script | None:
    """Returns the script of the task that a worker is given in these words; None if they are no task."""
    task = _TASK.match(text)
    if task is None or not text.endswith(_END):
        return None
    return _work(task[1], _intents(task[1], text))


def job_answer(conversation: GuideConversation) -> str | None:
    """Returns the final response to a job whose results came last, as a result or after a note; None if there are none."""
    newest = conversation.inputs[-1] if conversation.inputs else None
    text = newest.text if isinstance(newest, CallOutcome) and newest.tool == _TOOL else conversation.request
    text = text.removeprefix(f"Result of {_TOOL} (ok):").lstrip()
    if not text.startswith(_FINISHED):
        return None
    results = text.partition("\n\nResults:\n")[2].rpartition("\n\n")[0]
    return f"All tasks are done:\n\n{results}" if results else None


def _intents(action: str, text: str) -> tuple[Intent, ...]:
    """Parses the action, which a person may have edited; if it cannot be parsed, the task's commands still count."""
    request = understand(action)
    if not request.unclear and request.intents:
        return request.intents
    listed = text.partition(_COMMANDS)[2].partition("\n\n")[0]
    return tuple(RunCommandIntent(line[2:]) for line in bare_lines(listed) if line.startswith("- "))


def _work(action: str, intents: Sequence[Intent]) -> Script:
    if not intents:
        return _report(ok=False, text=f"{WHO} I do not understand the task “{action}”.")
    results: list[ResultSummary] = []
    for intent in intents:
        results.append((yield from act(intent, approved=True)))
        if not results[-1].ok:
            break
    return _report(ok=results[-1].ok, text=summary(results, []))


def _report(*, ok: bool, text: str) -> GuideDocument:
    return GuideDocument({"status": "success" if ok else "failure", "summary": inert(text)})
