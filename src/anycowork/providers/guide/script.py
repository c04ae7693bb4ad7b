"""Chooses what the guide does with a conversation, by role. Pure: the same messages give the same reply."""

import re
from collections.abc import Iterator, Sequence

from anycowork.domain.messages import Json
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.roles import Role
from anycowork.domain.text_lines import bare_lines
from anycowork.providers.guide.actions import act, do
from anycowork.providers.guide.conversation import GuideConversation, fenced_json
from anycowork.providers.guide.intents import (
    CreateFileIntent,
    Intent,
    Looking,
    ReadFileIntent,
    ReviewFileIntent,
    RunCommandIntent,
    phrase,
)
from anycowork.providers.guide.moves import GuideDocument, Script, inert, next_words
from anycowork.providers.guide.phrases import (
    ResultSummary,
    done,
    introduction,
    not_for_this_role,
    not_understood,
    summary,
)
from anycowork.providers.guide.plans import execute, propose
from anycowork.providers.guide.request_parser import GuideRequest, understand
from anycowork.providers.guide.tasks import job_answer, task_script

_PLANNING = (Role.PLANNER, Role.COMMANDER)
# What a role carries out itself, besides reading; a role that is not listed here does everything it is asked.
_BESIDES_LOOKING: dict[str, tuple[type, ...]] = {
    Role.PLANNER: (),
    Role.COMMANDER: (),
    Role.REVIEWER: (),
    Role.DESIGNER: (CreateFileIntent,),
    Role.TESTER: (RunCommandIntent,),
}


def reply(conversation: GuideConversation) -> str:
    """Returns the guide's next reply: text, or one JSON object. Never raises."""
    script = _script(conversation)
    return inert(script) if isinstance(script, str) else next_words(script, conversation.inputs)


def _script(conversation: GuideConversation) -> Script | str:
    """Returns the script to execute, or the text to send."""
    role = conversation.role
    if (task := task_script(conversation.request)) is not None:
        return task
    if answer := job_answer(conversation):
        return answer
    plan = _approved_plan(conversation.request)
    if plan is not None and role not in _BESIDES_LOOKING:
        return execute(plan)
    request = understand(conversation.request)
    if request.help:
        return introduction(role)
    if request.unclear:
        return not_understood(role, request.unclear)
    return _by_role(role, request, conversation.request)


def _by_role(role: str, request: GuideRequest, text: str) -> Script | str:
    looking = all(isinstance(intent, Looking) for intent in request.intents)
    if role in _PLANNING and (request.planned or not looking):
        return propose(_goal(text), request.intents)
    if (
        role == Role.REVIEWER
        and looking
        and any(isinstance(intent, ReadFileIntent | ReviewFileIntent) for intent in request.intents)
    ):
        return _review(request.intents)
    if request.planned:
        return _plan_elsewhere(request.intents)
    allowed = _BESIDES_LOOKING.get(role)
    foreign = (
        [] if allowed is None else [intent for intent in request.intents if not isinstance(intent, (*allowed, Looking))]
    )
    if foreign:
        return not_for_this_role(role, foreign)
    return _act_on(request.intents)


def _act_on(intents: Sequence[Intent]) -> Script:
    """Executes intents one after the other, up to the first that fails."""
    results: list[ResultSummary] = []
    for position, intent in enumerate(intents):
        result = yield from act(intent, approved=False)
        results.append(result)
        if not result.ok:
            return summary(results, [phrase(later) for later in intents[position + 1 :]])
    return summary(results, [])


def _review(intents: Sequence[Intent]) -> Script:
    problems: list[Json] = []
    paths: list[str] = []
    for intent in intents:
        if not isinstance(intent, ReadFileIntent | ReviewFileIntent):
            continue
        seen = yield from do("read_file", {"path": intent.path})
        if not seen.ok:
            return done(intent, f"Reviewed `{intent.path}`", seen).text
        paths.append(intent.path)
        problems += findings(intent.path, seen.text)
    count = f"{len(problems)} finding{'' if len(problems) == 1 else 's'}" if problems else "nothing to report"
    return GuideDocument(
        {
            "type": "review",
            "format_version": "1.0",
            "summary": f"Looked mechanically through {', '.join(paths)}: {count}. "
            "I am the guide, not a language model: whether it is right I cannot judge.",
            "findings": list(problems),
        }
    )


def _approved_plan(text: str) -> Plan | None:
    document = fenced_json(text)
    return read_plan(document) if isinstance(document, dict) else None


def _plan_elsewhere(intents: Sequence[Intent]) -> str:
    steps = "\n".join(f"{number}. {phrase(intent)}" for number, intent in enumerate(intents, 1))
    return f"This is how I would go about it:\n\n{steps}\n\nSwitch to Planner and say it again for a plan that you can approve, or tell me to do it."


def _goal(text: str) -> str:
    goal = " ".join(text.split())
    return goal if len(goal) <= 200 else f"{goal[:200]}…"


LONG_LINE = 150
MAX_FINDINGS = 50
_LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def findings(path: str, text: str) -> list[Json]:
    """Returns at most fifty findings, in the order of the lines."""
    all_findings = [*_by_line(path, text), *_of_the_whole(path, text)]
    return all_findings[:MAX_FINDINGS]


def _by_line(path: str, text: str) -> Iterator[Json]:
    for number, line in enumerate(bare_lines(text), 1):
        if leftover := _LEFTOVER.search(line):
            yield _finding(path, number, f"{leftover[1]} left in the file.", "Do it, or note it where work is tracked.")
        if len(line) > LONG_LINE:
            yield _finding(path, number, f"A line of {len(line)} characters.", f"Break it below {LONG_LINE}.")
        if re.match(r" +\t|\t+ +\S", line):
            yield _finding(path, number, "Tabs and spaces mixed in one indentation.", "Use one of them.")
        if line != line.rstrip():
            yield _finding(path, number, "White space at the end of the line.", "Remove it.")


def _of_the_whole(path: str, text: str) -> Iterator[Json]:
    indents = {line[0] for line in bare_lines(text) if line[:1] in ("\t", " ") and line.strip()}
    if len(indents) > 1:
        yield _finding(path, None, "Some lines are indented with tabs, others with spaces.", "Use one of them.")
    if text and not text.endswith("\n"):
        yield _finding(path, None, "The last line does not end with a newline.", "Add one.")
    if not text:
        yield _finding(path, None, "The file is empty.", "Remove it if it is not needed.")


def _finding(path: str, line: int | None, problem: str, suggestion: str) -> Json:
    location: Json = {"path": path} if line is None else {"path": path, "line": line}
    return {**location, "severity": "minor", "problem": problem, "suggestion": suggestion}
