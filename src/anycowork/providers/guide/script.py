"""The guide: chooses what it does with a conversation, by role, and streams that like a model. The same messages give the same reply."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Sequence

from anycowork.domain.messages import Json
from anycowork.domain.model import Chunk, ModelRequest, ReplyFinished, TextChunk, UsageChunk
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.roles import Role
from anycowork.domain.visible_text import bare_lines
from anycowork.providers.config import GUIDE
from anycowork.providers.guide.actions import GuideDocument, Script, act, do, inert, next_words
from anycowork.providers.guide.conversation import CallOutcome, GuideConversation, fenced_json, read_conversation
from anycowork.providers.guide.grammar import GuideRequest, understand
from anycowork.providers.guide.intents import (
    CreateFileIntent,
    Intent,
    Looking,
    ReadFileIntent,
    ReviewFileIntent,
    RunCommandIntent,
    phrase,
)
from anycowork.providers.guide.phrases import (
    WHO,
    ResultSummary,
    done,
    introduction,
    not_for_this_role,
    not_understood,
    summary,
)
from anycowork.providers.guide.plans import execute, propose

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


_BYTES_PER_TOKEN = 4
_PIECE = 24  # characters


class Guide:
    """The built-in default provider. Its usage is estimated by size, and costs nothing."""

    name = GUIDE

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Never fails: it says so if it does not understand."""
        text = reply(read_conversation(request.messages))
        for start in range(0, len(text), _PIECE):
            yield TextChunk(text[start : start + _PIECE])
            await asyncio.sleep(0)  # lets other tasks run between two chunks, as with a real model
        yield UsageChunk(
            prompt=sum(_tokens(prompt_message.content) for prompt_message in request.messages),
            completion=_tokens(text),
        )
        yield ReplyFinished("stop")


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
