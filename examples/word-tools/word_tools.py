"""Three tools: one that reads, one that changes a file, one that needs nothing of the workspace."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from anycowork.plugins import ToolError, tool


@tool(category="words", path="path")
def frequent_words(
    path: Annotated[str, "a text file"], most: Annotated[int, "how many words to name"] = 10
) -> dict[str, int]:
    """Name the most frequent words of a file, with how often each occurs."""
    words = text_of(path).lower().split()
    return dict(Counter(words).most_common(most))


@tool(category="words", path="path", permissions=["write_files"])
def sort_lines(path: Annotated[str, "a text file"]) -> str:
    """Sort the lines of a file."""
    lines = text_of(path).splitlines()
    Path(path).write_text("".join(f"{line}\n" for line in sorted(lines)))
    return f"{len(lines)} lines are in order."


@tool(category="words", permissions=[])
async def to_roman(number: int) -> str:
    """Write a number with Roman numerals."""
    if not 0 < number < 4000:
        raise ToolError(f"{number} cannot be written with Roman numerals; give one from 1 to 3999.")
    signs = ("M", 1000), ("CM", 900), ("D", 500), ("CD", 400), ("C", 100), ("XC", 90), ("L", 50), ("XL", 40)
    written = ""
    for sign, worth in (*signs, ("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1)):
        times, number = divmod(number, worth)
        written += sign * times
    return written


def text_of(path: str) -> str:
    """The workspace's folder is where a tool stands, so a path from its root is a path from here."""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(f"'{path}' cannot be read as text: {error}") from None


tools = [frequent_words, sort_lines, to_roman]
