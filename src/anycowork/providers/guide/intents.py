"""The intents that the guide knows, and their phrases: `understand` can read every phrase made here. Pure."""

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


def phrase(intent: Intent) -> str:
    """Returns the intent in plain words, quoted so that parsing the phrase gives the same intent."""
    match intent:
        case ListFilesIntent():
            return f"List the files in {quoted(intent.path)}"
        case ReadFileIntent():
            return f"Read {quoted(intent.path)}"
        case ReviewFileIntent():
            return f"Review {quoted(intent.path)}"
        case SearchIntent():
            folder = f" in {quoted(intent.path)}" if intent.path else ""
            return f"Search for {quoted(intent.text)}{folder}"
        case CreateFileIntent(content=""):
            return f"Create the empty file {quoted(intent.path)}"
        case CreateFileIntent():
            return f"Create {quoted(intent.path)} with {quoted(intent.content.removesuffix(NEWLINE))}"
        case ReplaceTextIntent():
            return f"Replace {quoted(intent.old)} with {quoted(intent.new)} in {quoted(intent.path)}"
        case AppendLineIntent():
            return f"Append {quoted(intent.line)} to {quoted(intent.path)}"
        case DeleteFileIntent():
            return f"Delete {quoted(intent.path)}"
        case MoveFileIntent():
            return f"Move {quoted(intent.path)} to {quoted(intent.to)}"
        case RunCommandIntent():
            return f"Run {quoted(intent.command)}"
        case _:
            assert_never(intent)


NEWLINE = "\n"


def quoted(text: str) -> str:
    """Quotes with backticks where possible, otherwise with a fence."""
    if text and "`" not in text and NEWLINE not in text:
        return f"`{text}`"
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{NEWLINE}{text}{NEWLINE}{fence}"


def paths_of(intent: Intent) -> tuple[str, ...]:
    """Returns the files that this intent changes."""
    match intent:
        case CreateFileIntent() | ReplaceTextIntent() | AppendLineIntent() | DeleteFileIntent():
            return (intent.path,)
        case MoveFileIntent():
            return (intent.path, intent.to)
        case ListFilesIntent() | ReadFileIntent() | ReviewFileIntent() | SearchIntent() | RunCommandIntent():
            return ()
        case _:
            assert_never(intent)
