"""Converts bytes to text and back without loss: keeps byte order mark, line ends and a missing last newline. Pure."""

import codecs

from anycowork.domain.values import value


@value
class TextFile:
    """`body` has its original line ends and no byte order mark."""

    body: str
    bom: bool = False

    @property
    def newline(self) -> str:
        """Returns the most frequent line end; a new line gets it."""
        windows = self.body.count("\r\n")
        return "\r\n" if windows > self.body.count("\n") - windows else "\n"

    def with_body(self, body: str) -> "TextFile":
        """Returns the same file with another body. A byte order mark in the body counts as the file's own, never as a second one."""
        return TextFile(body=body.removeprefix("\ufeff"), bom=self.bom)

    def encoded(self) -> bytes:
        return (codecs.BOM_UTF8 if self.bom else b"") + self.body.encode()


def decode(data: bytes) -> TextFile | None:
    """Returns None if these bytes are not UTF-8 text."""
    if b"\0" in data:
        return None
    try:
        body = data.decode()
    except UnicodeDecodeError:
        return None
    return TextFile(body=body.removeprefix("\ufeff"), bom=body.startswith("\ufeff"))


def lines_of(body: str) -> list[str]:
    """Splits into lines with their ends. Only a line feed ends a line, as in diffs and editors: not a form feed, not U+2028."""
    *whole, last = body.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def with_line_ends(body: str, newline: str) -> str:
    """Converts plain line feeds, whose author could not see the file's line ends; any other line ends are kept as written."""
    if newline == "\n" or "\r\n" in body:
        return body
    return body.replace("\n", newline)
