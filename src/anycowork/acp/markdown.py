"""Text for an editor, which draws it as Markdown. What comes from outside is fenced, so that it stays text. Pure."""

from anycowork.domain.visible_text import UntrustedText, visible, visible_line


def fenced(text: str, language: str = "") -> str:
    """The text in a code block whose fence is longer than every run of backticks in it."""
    longest = run = 0
    for sign in text:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def one_line(text: object, limit: int = 120) -> str:
    """One line for a title: hidden characters are written out, and a long text is cut."""
    line = visible_line(UntrustedText(str(text)))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def shown_text(text: object) -> str:
    """The whole text, hidden and misleading characters written out."""
    return visible(UntrustedText(str(text)))
