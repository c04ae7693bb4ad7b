"""What a person may wish of the guide, and how the guide says each wish back: `understand` reads every phrase made here. Pure."""

import re
from typing import assert_never

from anycowork.domain.values import value


@value
class ListFiles:
    path: str = "."


@value
class ReadFile:
    path: str


@value
class ReviewFile:
    path: str


@value
class Search:
    text: str
    path: str | None = None


@value
class CreateFile:
    path: str
    content: str = ""


@value
class ReplaceText:
    path: str
    old: str
    new: str


@value
class AppendLine:
    path: str
    line: str


@value
class DeleteFile:
    path: str


@value
class MoveFile:
    path: str
    to: str


@value
class RunCommand:
    command: str


Looking = ListFiles | ReadFile | ReviewFile | Search
Wish = Looking | CreateFile | ReplaceText | AppendLine | DeleteFile | MoveFile | RunCommand


def phrase(wish: Wish) -> str:
    """The wish in plain words, quoted so that reading it again gives the same wish."""
    match wish:
        case ListFiles():
            return f"List the files in {quoted(wish.path)}"
        case ReadFile():
            return f"Read {quoted(wish.path)}"
        case ReviewFile():
            return f"Review {quoted(wish.path)}"
        case Search():
            place = f" in {quoted(wish.path)}" if wish.path else ""
            return f"Search for {quoted(wish.text)}{place}"
        case CreateFile(content=""):
            return f"Create the empty file {quoted(wish.path)}"
        case CreateFile():
            return f"Create {quoted(wish.path)} with {quoted(wish.content.removesuffix(NEWLINE))}"
        case ReplaceText():
            return f"Replace {quoted(wish.old)} with {quoted(wish.new)} in {quoted(wish.path)}"
        case AppendLine():
            return f"Append {quoted(wish.line)} to {quoted(wish.path)}"
        case DeleteFile():
            return f"Delete {quoted(wish.path)}"
        case MoveFile():
            return f"Move {quoted(wish.path)} to {quoted(wish.to)}"
        case RunCommand():
            return f"Run {quoted(wish.command)}"
        case _:
            assert_never(wish)


NEWLINE = "\n"


def quoted(text: str) -> str:
    """In backticks where they do, in a fence where they do not."""
    if text and "`" not in text and NEWLINE not in text:
        return f"`{text}`"
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{NEWLINE}{text}{NEWLINE}{fence}"


def paths_of(wish: Wish) -> tuple[str, ...]:
    """The files that this wish changes."""
    match wish:
        case CreateFile() | ReplaceText() | AppendLine() | DeleteFile():
            return (wish.path,)
        case MoveFile():
            return (wish.path, wish.to)
        case ListFiles() | ReadFile() | ReviewFile() | Search() | RunCommand():
            return ()
        case _:
            assert_never(wish)
