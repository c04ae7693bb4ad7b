"""How one wish is carried out: the calls it takes, in order, and what is told of it afterwards. Pure; see `moves`."""

import re
from collections.abc import Generator
from typing import assert_never

from anycowork.domain.messages import Json
from anycowork.providers.guide.conversation import AnsweredQuestion, CallOutcome, Heard
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
from anycowork.providers.guide.moves import GuideCall, GuideChoice, GuideQuestion, Move
from anycowork.providers.guide.phrases import ResultSummary, done, ran

Act = Generator[Move, Heard, ResultSummary]
_CUT = re.compile(r"\n\[cut \d+ of \d+ bytes; ")


def act(wish: Intent, *, approved: bool) -> Act:
    """`approved`: a person has agreed to this very step, so a deletion is not asked about a second time."""
    match wish:
        case ListFilesIntent():
            outcome = yield from do("list_directory", {"path": wish.path})
            return done(wish, f"These are the files in `{wish.path}`", outcome, show=True)
        case ReadFileIntent() | ReviewFileIntent():
            outcome = yield from do("read_file", {"path": wish.path})
            return done(wish, f"This is `{wish.path}`", outcome, show=True)
        case SearchIntent():
            outcome = yield from do("search_code", _search(wish))
            return done(wish, f"This is what I found for `{wish.text}`", outcome, show=True)
        case CreateFileIntent():
            outcome = yield from do("create_file", {"path": wish.path, "content": wish.content})
            return done(wish, f"Created `{wish.path}`", outcome)
        case ReplaceTextIntent():
            return (yield from _replace(wish))
        case AppendLineIntent():
            return (yield from _append(wish))
        case DeleteFileIntent():
            return (yield from _delete(wish, approved=approved))
        case MoveFileIntent():
            outcome = yield from do("move_file", {"path": wish.path, "to": wish.to})
            return done(wish, f"Moved `{wish.path}` to `{wish.to}`", outcome)
        case RunCommandIntent():
            return ran(wish, (yield from do("execute_command", {"command": wish.command})))
        case _:
            assert_never(wish)


def do(tool: str, parameters: Json) -> Generator[Move, Heard, CallOutcome]:
    """One call, and what came back."""
    heard = yield GuideCall(tool, parameters)
    assert isinstance(heard, CallOutcome)  # `moves.next_words` answers a call with nothing else
    return heard


def ask(question: GuideQuestion) -> Generator[Move, Heard, str]:
    """One question, and the value that was chosen."""
    heard = yield question
    assert isinstance(heard, AnsweredQuestion)  # `moves.next_words` answers a question with nothing else
    return question.chosen(heard.words)


def _search(wish: SearchIntent) -> Json:
    return {"query": wish.text} if wish.path is None else {"query": wish.text, "path": wish.path}


def _replace(wish: ReplaceTextIntent) -> Act:
    seen = yield from do("read_file", {"path": wish.path})
    what = f"Replaced `{wish.old}` with `{wish.new}` in `{wish.path}`"
    if not seen.ok:
        return done(wish, what, seen)
    times = seen.text.count(wish.old)
    if times == 0:
        return ResultSummary(
            False, f"Not done: `{wish.old}` does not occur in `{wish.path}`, as far as I was shown it."
        )
    if times == 1 or _CUT.search(seen.text):
        return done(wish, what, (yield from _edit(wish.path, wish.old, wish.new)))
    # An edit must fit one place; for several the whole file is written, which was read a moment ago.
    content = seen.text.replace(wish.old, wish.new)
    outcome = yield from do("update_file", {"path": wish.path, "content": content})
    return done(wish, f"{what}, {times} times", outcome)


def _append(wish: AppendLineIntent) -> Act:
    seen = yield from do("read_file", {"path": wish.path})
    what = f"Appended `{wish.line}` to `{wish.path}`"
    if not seen.ok:
        return done(wish, what, seen)
    if not seen.text:
        return done(wish, what, (yield from do("update_file", {"path": wish.path, "content": f"{wish.line}\n"})))
    end = _unique_end(seen.text)
    joint = "" if end.endswith("\n") else "\n"
    return done(wish, what, (yield from _edit(wish.path, end, f"{end}{joint}{wish.line}\n")))


def _edit(path: str, find: str, replace: str) -> Generator[Move, Heard, CallOutcome]:
    return (yield from do("update_file", {"path": path, "edits": [{"find": find, "replace": replace}]}))


def _unique_end(text: str) -> str:
    """The fewest last lines that stand nowhere else in the text."""
    lines = text.splitlines(keepends=True)
    end = ""
    for line in reversed(lines):
        end = line + end
        if text.find(end) == len(text) - len(end):
            break
    return end


def _delete(wish: DeleteFileIntent, *, approved: bool) -> Act:
    if not approved:
        question = GuideQuestion(
            question=f"Delete `{wish.path}`?",
            context="You asked for it; deleting is always asked about. Nothing has been deleted yet.",
            choices=(
                GuideChoice("delete", "Delete it", f"{wish.path} is removed from the workspace"),
                GuideChoice("keep", "Keep it", "Nothing is changed"),
            ),
        )
        if (yield from ask(question)) == "keep":
            return ResultSummary(True, f"Kept `{wish.path}`, as you answered", answered=True)
    return done(wish, f"Deleted `{wish.path}`", (yield from do("delete_file", {"path": wish.path})))
