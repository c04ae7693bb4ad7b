"""How one wish is carried out: the calls it takes, in order, and what is told of it afterwards. Pure; see `moves`."""

import re
from collections.abc import Generator
from typing import assert_never

from anycowork.domain.messages import Json
from anycowork.providers.guide.conversation import Answered, Heard, Outcome
from anycowork.providers.guide.moves import Ask, Call, Choice, Move
from anycowork.providers.guide.speaking import Told, done, ran
from anycowork.providers.guide.wishes import (
    AppendLine,
    CreateFile,
    DeleteFile,
    ListFiles,
    MoveFile,
    ReadFile,
    ReplaceText,
    ReviewFile,
    RunCommand,
    Search,
    Wish,
)

Act = Generator[Move, Heard, Told]
_CUT = re.compile(r"\n\[cut \d+ of \d+ bytes; ")


def act(wish: Wish, *, approved: bool) -> Act:
    """`approved`: a person has agreed to this very step, so a deletion is not asked about a second time."""
    match wish:
        case ListFiles():
            outcome = yield from do("list_directory", {"path": wish.path})
            return done(wish, f"These are the files in `{wish.path}`", outcome, show=True)
        case ReadFile() | ReviewFile():
            outcome = yield from do("read_file", {"path": wish.path})
            return done(wish, f"This is `{wish.path}`", outcome, show=True)
        case Search():
            outcome = yield from do("search_code", _search(wish))
            return done(wish, f"This is what I found for `{wish.text}`", outcome, show=True)
        case CreateFile():
            outcome = yield from do("create_file", {"path": wish.path, "content": wish.content})
            return done(wish, f"Created `{wish.path}`", outcome)
        case ReplaceText():
            return (yield from _replace(wish))
        case AppendLine():
            return (yield from _append(wish))
        case DeleteFile():
            return (yield from _delete(wish, approved=approved))
        case MoveFile():
            outcome = yield from do("move_file", {"path": wish.path, "to": wish.to})
            return done(wish, f"Moved `{wish.path}` to `{wish.to}`", outcome)
        case RunCommand():
            return ran(wish, (yield from do("execute_command", {"command": wish.command})))
        case _:
            assert_never(wish)


def do(tool: str, parameters: Json) -> Generator[Move, Heard, Outcome]:
    """One call, and what came back."""
    heard = yield Call(tool, parameters)
    assert isinstance(heard, Outcome)  # `moves.next_words` answers a call with nothing else
    return heard


def ask(question: Ask) -> Generator[Move, Heard, str]:
    """One question, and the value that was chosen."""
    heard = yield question
    assert isinstance(heard, Answered)  # `moves.next_words` answers a question with nothing else
    return question.chosen(heard.words)


def _search(wish: Search) -> Json:
    return {"query": wish.text} if wish.path is None else {"query": wish.text, "path": wish.path}


def _replace(wish: ReplaceText) -> Act:
    seen = yield from do("read_file", {"path": wish.path})
    what = f"Replaced `{wish.old}` with `{wish.new}` in `{wish.path}`"
    if not seen.ok:
        return done(wish, what, seen)
    times = seen.text.count(wish.old)
    if times == 0:
        return Told(False, f"Not done: `{wish.old}` does not occur in `{wish.path}`, as far as I was shown it.")
    if times == 1 or _CUT.search(seen.text):
        return done(wish, what, (yield from _edit(wish.path, wish.old, wish.new)))
    # An edit must fit one place; for several the whole file is written, which was read a moment ago.
    content = seen.text.replace(wish.old, wish.new)
    outcome = yield from do("update_file", {"path": wish.path, "content": content})
    return done(wish, f"{what}, {times} times", outcome)


def _append(wish: AppendLine) -> Act:
    seen = yield from do("read_file", {"path": wish.path})
    what = f"Appended `{wish.line}` to `{wish.path}`"
    if not seen.ok:
        return done(wish, what, seen)
    if not seen.text:
        return done(wish, what, (yield from do("update_file", {"path": wish.path, "content": f"{wish.line}\n"})))
    end = _unique_end(seen.text)
    joint = "" if end.endswith("\n") else "\n"
    return done(wish, what, (yield from _edit(wish.path, end, f"{end}{joint}{wish.line}\n")))


def _edit(path: str, find: str, replace: str) -> Generator[Move, Heard, Outcome]:
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


def _delete(wish: DeleteFile, *, approved: bool) -> Act:
    if not approved:
        question = Ask(
            question=f"Delete `{wish.path}`?",
            context="You asked for it; deleting is always asked about. Nothing has been deleted yet.",
            choices=(
                Choice("delete", "Delete it", f"{wish.path} is removed from the workspace"),
                Choice("keep", "Keep it", "Nothing is changed"),
            ),
        )
        if (yield from ask(question)) == "keep":
            return Told(True, f"Kept `{wish.path}`, as you answered", answered=True)
    return done(wish, f"Deleted `{wish.path}`", (yield from do("delete_file", {"path": wish.path})))
