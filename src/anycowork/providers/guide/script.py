"""Chooses what the guide does with a conversation, by role. Pure: the same messages give the same reply."""

from collections.abc import Sequence

from anycowork.domain.messages import Json
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.roles import Role
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
from anycowork.providers.guide.review import findings
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


def _by_role(role: str, request: GuideRequest, words: str) -> Script | str:
    looking = all(isinstance(intent, Looking) for intent in request.intents)
    if role in _PLANNING and (request.planned or not looking):
        return propose(_goal(words), request.intents)
    if (
        role == Role.REVIEWER
        and looking
        and any(isinstance(intent, ReadFileIntent | ReviewFileIntent) for intent in request.intents)
    ):
        return _review(request.intents)
    if request.planned:
        return _plan_elsewhere(request.intents)
    own = _BESIDES_LOOKING.get(role)
    foreign = [] if own is None else [intent for intent in request.intents if not isinstance(intent, (*own, Looking))]
    if foreign:
        return not_for_this_role(role, foreign)
    return _act_on(request.intents)


def _act_on(intents: Sequence[Intent]) -> Script:
    """Executes intents one after the other, up to the first that fails."""
    results: list[ResultSummary] = []
    for position, intent in enumerate(intents):
        one = yield from act(intent, approved=False)
        results.append(one)
        if not one.ok:
            return summary(results, [phrase(later) for later in intents[position + 1 :]])
    return summary(results, [])


def _review(intents: Sequence[Intent]) -> Script:
    found: list[Json] = []
    paths: list[str] = []
    for intent in intents:
        if not isinstance(intent, ReadFileIntent | ReviewFileIntent):
            continue
        seen = yield from do("read_file", {"path": intent.path})
        if not seen.ok:
            return done(intent, f"Reviewed `{intent.path}`", seen).words
        paths.append(intent.path)
        found += findings(intent.path, seen.text)
    count = f"{len(found)} finding{'' if len(found) == 1 else 's'}" if found else "nothing to report"
    return GuideDocument(
        {
            "type": "review",
            "format_version": "1.0",
            "summary": f"Looked mechanically through {', '.join(paths)}: {count}. "
            "I am the guide, not a language model: whether it is right I cannot judge.",
            "findings": list(found),
        }
    )


def _approved_plan(words: str) -> Plan | None:
    found = fenced_json(words)
    return read_plan(found) if isinstance(found, dict) else None


def _plan_elsewhere(intents: Sequence[Intent]) -> str:
    steps = "\n".join(f"{number}. {phrase(intent)}" for number, intent in enumerate(intents, 1))
    return f"This is how I would go about it:\n\n{steps}\n\nSwitch to Planner and say it again for a plan that you can approve, or tell me to do it."


def _goal(words: str) -> str:
    goal = " ".join(words.split())
    return goal if len(goal) <= 200 else f"{goal[:200]}…"
