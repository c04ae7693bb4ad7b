"""The guide's moves besides text, the replay that finds the next one, and the moves that carry out one intent. Pure.

A move is a call or a question. A script is a generator that yields moves and receives the outcome of each. The guide keeps no state between
requests: it runs the script from the start each time, feeds it the outcomes so far, and sends the first move that has no outcome yet.
"""

import json
import re
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import field
from typing import assert_never

from anycowork.domain.messages import Json
from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value
from anycowork.providers.guide.conversation import AnsweredQuestion, CallOutcome, Observation
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
)
from anycowork.providers.guide.phrases import ResultSummary, done, ran
from anycowork.workspace.text import lines_of

_CUT = late_pattern(r"\n\[cut \d+ of \d+ bytes; ")


@value
class GuideCall:
    tool: str
    parameters: Json = field(hash=False)

    def as_text(self) -> str:
        return _json({"tool": self.tool, "parameters": self.parameters, "terminate": False})


@value
class GuideChoice:
    value: str
    label: str
    description: str


@value
class GuideQuestion:
    """A question with a few answers; the last choice is the safe one and the default."""

    question: str
    context: str
    choices: tuple[GuideChoice, ...]
    severity: str = "major"

    def as_text(self) -> str:
        return _json(
            {
                "type": "question",
                "format_version": "1.0",
                "question": self.question,
                "context": self.context,
                "severity": self.severity,
                "options": [{"label": c.label, "value": c.value, "description": c.description} for c in self.choices],
                "default": self.choices[-1].value,
                "allow_custom": False,
            }
        )

    def chosen(self, answer: str) -> str:
        """Returns the value of the choice that these words name by value or label; the default if they name none, or several."""
        lowered = answer.lower()
        matches = [c.value for c in self.choices if c.value.lower() in lowered or c.label.lower() in lowered]
        return matches[0] if len(matches) == 1 else self.choices[-1].value


@value
class GuideDocument:
    """A plan or a review: a reply that is only JSON."""

    content: Json = field(hash=False)

    def as_text(self) -> str:
        return _json(self.content)


Move = GuideCall | GuideQuestion
Script = Generator[Move, Observation, str | GuideDocument]
Act = Generator[Move, Observation, ResultSummary]


def next_words(script: Script, inputs: Sequence[Observation]) -> str:
    """Returns the next reply: the script's first move that has no outcome yet, or its final text."""
    waiting = deque(inputs)
    try:
        move = next(script)
        while (outcome := _outcome(move, waiting)) is not None:
            move = script.send(outcome)
    except StopIteration as end:
        return end.value.as_text() if isinstance(end.value, GuideDocument) else inert(end.value)
    return move.as_text()


def inert(text: str) -> str:
    """Breaks every JSON object in the text visibly, so that text from a file or a person is not read as a call by the guide."""
    return re.sub(r"\{(?=\s*\")", "{…", text)


def _outcome(move: Move, waiting: deque[Observation]) -> Observation | None:
    """Returns the next outcome that belongs to this move; skips outcomes of other calls."""
    while waiting:
        inputs = waiting.popleft()
        match move:
            case GuideCall():
                if (
                    isinstance(inputs, CallOutcome)
                    and inputs.tool == move.tool
                    and inputs.parameters in (None, move.parameters)
                ):
                    return inputs
            case GuideQuestion():
                if isinstance(inputs, AnsweredQuestion):
                    return inputs
            case _:
                assert_never(move)
    return None


def _json(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False)


def act(intent: Intent, *, approved: bool) -> Act:
    """`approved`: a person has approved this step, so a deletion is not confirmed a second time."""
    match intent:
        case ListFilesIntent():
            outcome = yield from do("list_directory", {"path": intent.path})
            return done(intent, f"These are the files in `{intent.path}`", outcome, show=True)
        case ReadFileIntent() | ReviewFileIntent():
            outcome = yield from do("read_file", {"path": intent.path})
            return done(intent, f"This is `{intent.path}`", outcome, show=True)
        case SearchIntent():
            outcome = yield from do("search_code", _search(intent))
            return done(intent, f"This is what I found for `{intent.text}`", outcome, show=True)
        case CreateFileIntent():
            outcome = yield from do("create_file", {"path": intent.path, "content": intent.content})
            return done(intent, f"Created `{intent.path}`", outcome)
        case ReplaceTextIntent():
            return (yield from _replace(intent))
        case AppendLineIntent():
            return (yield from _append(intent))
        case DeleteFileIntent():
            return (yield from _delete(intent, approved=approved))
        case MoveFileIntent():
            outcome = yield from do("move_file", {"path": intent.path, "to": intent.to})
            return done(intent, f"Moved `{intent.path}` to `{intent.to}`", outcome)
        case RunCommandIntent():
            return ran(intent, (yield from do("execute_command", {"command": intent.command})))
        case _:
            assert_never(intent)


def do(tool: str, parameters: Json) -> Generator[Move, Observation, CallOutcome]:
    """Makes one call and returns its outcome."""
    answer = yield GuideCall(tool, parameters)
    assert isinstance(answer, CallOutcome)  # `moves.next_words` answers a call with nothing else
    return answer


def ask(question: GuideQuestion) -> Generator[Move, Observation, str]:
    """Asks one question and returns the chosen value."""
    answer = yield question
    assert isinstance(answer, AnsweredQuestion)  # `moves.next_words` answers a question with nothing else
    return question.chosen(answer.text)


def _search(intent: SearchIntent) -> Json:
    return {"query": intent.text} if intent.path is None else {"query": intent.text, "path": intent.path}


def _replace(intent: ReplaceTextIntent) -> Act:
    seen = yield from do("read_file", {"path": intent.path})
    report = f"Replaced `{intent.old}` with `{intent.new}` in `{intent.path}`"
    if not seen.ok:
        return done(intent, report, seen)
    times = seen.text.count(intent.old)
    if times == 0:
        return ResultSummary(
            False, f"Not done: `{intent.old}` does not occur in `{intent.path}`, as far as I was shown it."
        )
    if times == 1 or _CUT.search(seen.text):
        return done(intent, report, (yield from _edit(intent.path, intent.old, intent.new)))
    # An edit must match exactly one place; for several, the whole file is rewritten, which was read just before.
    content = seen.text.replace(intent.old, intent.new)
    outcome = yield from do("update_file", {"path": intent.path, "content": content})
    return done(intent, f"{report}, {times} times", outcome)


def _append(intent: AppendLineIntent) -> Act:
    seen = yield from do("read_file", {"path": intent.path})
    report = f"Appended `{intent.line}` to `{intent.path}`"
    if not seen.ok:
        return done(intent, report, seen)
    if not seen.text:
        return done(
            intent, report, (yield from do("update_file", {"path": intent.path, "content": f"{intent.line}\n"}))
        )
    end = _unique_end(seen.text)
    joint = "" if end.endswith("\n") else "\n"
    return done(intent, report, (yield from _edit(intent.path, end, f"{end}{joint}{intent.line}\n")))


def _edit(path: str, find: str, replace: str) -> Generator[Move, Observation, CallOutcome]:
    return (yield from do("update_file", {"path": path, "edits": [{"find": find, "replace": replace}]}))


def _unique_end(text: str) -> str:
    """Returns the fewest last lines that occur nowhere else in the text."""
    lines = lines_of(text)
    end = ""
    for line in reversed(lines):
        end = line + end
        if text.find(end) == len(text) - len(end):
            break
    return end


def _delete(intent: DeleteFileIntent, *, approved: bool) -> Act:
    if not approved:
        question = GuideQuestion(
            question=f"Delete `{intent.path}`?",
            context="You asked for it; deleting is always asked about. Nothing has been deleted yet.",
            choices=(
                GuideChoice("delete", "Delete it", f"{intent.path} is removed from the workspace"),
                GuideChoice("keep", "Keep it", "Nothing is changed"),
            ),
        )
        if (yield from ask(question)) == "keep":
            return ResultSummary(True, f"Kept `{intent.path}`, as you answered", answered=True)
    return done(intent, f"Deleted `{intent.path}`", (yield from do("delete_file", {"path": intent.path})))
