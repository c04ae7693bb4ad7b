"""Converts bytes to text and back without loss: keeps byte order mark, line ends and a missing last newline. Pure."""

import codecs

from anycowork.domain.values import value

# UTF-32 first: its mark begins with that of UTF-16.
_MARKED = (
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_UNMARKED = (
    ("utf-32-le", "UTF-32 without a mark"),
    ("utf-32-be", "UTF-32 without a mark"),
    ("utf-16-le", "UTF-16 without a mark"),
    ("utf-16-be", "UTF-16 without a mark"),
)


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


def decode_wide(data: bytes) -> tuple[str, str] | None:
    """Returns the text and the name of its encoding if these bytes are UTF-16 or UTF-32, with or without a byte order mark.

    Without a mark it must be mostly ASCII, else many pictures and programs would count as text.
    """
    for mark, codec, name in _MARKED:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], codec, name)
    for codec, name in _UNMARKED if b"\0" in data else ():
        decoded = _decoded(data, codec, name)
        if decoded is not None and sum(map(_is_plain, decoded[0])) * 2 >= len(decoded[0]):
            return decoded
    return None


def _decoded(data: bytes, codec: str, name: str) -> tuple[str, str] | None:
    try:
        return data.decode(codec), name
    except UnicodeDecodeError:
        return None


def _is_plain(character: str) -> bool:
    return " " <= character <= "~" or character in "\n\r\t"


def lines_of(body: str) -> list[str]:
    """Splits into lines with their ends. Only a line feed ends a line, as in diffs and editors: not a form feed, not U+2028."""
    *complete_lines, last = body.split("\n")
    return [f"{line}\n" for line in complete_lines] + ([last] if last else [])


def with_line_ends(body: str, newline: str) -> str:
    """Converts plain line feeds, whose author could not see the file's line ends; any other line ends are kept as written."""
    if newline == "\n" or "\r\n" in body:
        return body
    return body.replace("\n", newline)
