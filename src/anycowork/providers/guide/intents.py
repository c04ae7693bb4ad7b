"""What a person may wish of the guide, and how the guide says each wish back: `understand` reads every phrase made here. Pure."""

import re
from typing import assert_never

from anycowork.domain.values import value


@value
class ListFilesIntent:
    path: str = "."


@value
class ReadFileIntent:
    path: str


@value
class ReviewFileIntent:
    path: str


@value
class SearchIntent:
    text: str
    path: str | None = None


@value
class CreateFileIntent:
    path: str
    content: str = ""


@value
class ReplaceTextIntent:
    path: str
    old: str
    new: str


@value
class AppendLineIntent:
    path: str
    line: str


@value
class DeleteFileIntent:
    path: str


@value
class MoveFileIntent:
    path: str
    to: str


@value
class RunCommandIntent:
    command: str


Looking = ListFilesIntent | ReadFileIntent | ReviewFileIntent | SearchIntent
Intent = (
    Looking
    | CreateFileIntent
    | ReplaceTextIntent
    | AppendLineIntent
    | DeleteFileIntent
    | MoveFileIntent
    | RunCommandIntent
)


def phrase(wish: Intent) -> str:
    """The wish in plain words, quoted so that reading it again gives the same wish."""
    match wish:
        case ListFilesIntent():
            return f"List the files in {quoted(wish.path)}"
        case ReadFileIntent():
            return f"Read {quoted(wish.path)}"
        case ReviewFileIntent():
            return f"Review {quoted(wish.path)}"
        case SearchIntent():
            place = f" in {quoted(wish.path)}" if wish.path else ""
            return f"Search for {quoted(wish.text)}{place}"
        case CreateFileIntent(content=""):
            return f"Create the empty file {quoted(wish.path)}"
        case CreateFileIntent():
            return f"Create {quoted(wish.path)} with {quoted(wish.content.removesuffix(NEWLINE))}"
        case ReplaceTextIntent():
            return f"Replace {quoted(wish.old)} with {quoted(wish.new)} in {quoted(wish.path)}"
        case AppendLineIntent():
            return f"Append {quoted(wish.line)} to {quoted(wish.path)}"
        case DeleteFileIntent():
            return f"Delete {quoted(wish.path)}"
        case MoveFileIntent():
            return f"Move {quoted(wish.path)} to {quoted(wish.to)}"
        case RunCommandIntent():
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


def paths_of(wish: Intent) -> tuple[str, ...]:
    """The files that this wish changes."""
    match wish:
        case CreateFileIntent() | ReplaceTextIntent() | AppendLineIntent() | DeleteFileIntent():
            return (wish.path,)
        case MoveFileIntent():
            return (wish.path, wish.to)
        case ListFilesIntent() | ReadFileIntent() | ReviewFileIntent() | SearchIntent() | RunCommandIntent():
            return ()
        case _:
            assert_never(wish)
