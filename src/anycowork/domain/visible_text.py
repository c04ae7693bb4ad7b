"""Text for people: untrusted text is made safe to show, a text is cut into the lines that files and git have, and the system's
reasons are written without their numbers. Pure."""

import re
import unicodedata
from typing import NewType, NoReturn

from anycowork.domain.values import value

VisibleText = NewType("VisibleText", str)
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs"})
# Letters and marks that are invisible or look like a blank.
_BLANK = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
)  # fmt: skip
_MOST_MARKS = 3  # on one letter; more of them cover the lines around it
_NUMBER = re.compile(r"\[Errno -?\d{1,9}\] ")


"""Text in which a person sees every character. Only `visible` creates it."""


@value
class UntrustedText:
    """Text from a model, a file, a program or a client. It cannot be printed or formatted by accident: `visible` takes it."""

    raw: str

    def __str__(self) -> NoReturn:
        raise TypeError("Untrusted text is shown through visible() only.")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("Untrusted text is shown through visible() only.")


def visible(text: UntrustedText) -> VisibleText:
    """The text with each hidden or misleading character written as its number; line feeds and tabs stay. Applying it twice changes nothing."""
    raw = text.raw
    if raw.isascii() and raw.isprintable():
        return VisibleText(raw)
    escaped = raw.translate(_ESCAPES)
    return VisibleText(escaped if escaped.isascii() else _without_piled_marks(escaped))


def visible_line(text: UntrustedText) -> VisibleText:
    """As `visible`, and on one line: line feeds and tabs are written out too."""
    return VisibleText(visible(text).replace("\n", _number(0x0A)).replace("\t", _number(0x09)))


def is_hidden(character: str) -> bool:
    """Whether a reader could miss this character, or take it for another one."""
    code = ord(character)
    if character in " \n\t":
        return False
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or code in _BLANK


def _number(code: int) -> str:
    return f"⟨U+{code:04X}⟩"


class _Escapes(dict[int, str | int]):
    """For `str.translate`. Remembers ASCII alone, so that no text makes it grow."""

    def __missing__(self, code: int) -> str | int:
        return _number(code) if is_hidden(chr(code)) else code


_ESCAPES = _Escapes({code: _number(code) if is_hidden(chr(code)) else code for code in range(128)})


def _without_piled_marks(text: str) -> str:
    pieces: list[str] = []
    marks = 0
    for character in text:
        is_mark = not character.isascii() and unicodedata.category(character)[0] == "M"
        marks = marks + 1 if is_mark else 0
        if marks <= _MOST_MARKS:
            pieces.append(character)
        elif marks == _MOST_MARKS + 1:
            pieces.append("⟨…⟩")
    return "".join(pieces)


def bare_lines(text: str) -> list[str]:
    """The lines without their ends. Only a line feed ends one, with a carriage return before it or not."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def os_reason(error: BaseException, *, with_path: bool = False) -> str:
    """Returns the reason, such as "Permission denied". `with_path` appends the file, for messages that do not name it."""
    if isinstance(error, OSError) and error.strerror:
        path = f": {error.filename}" if with_path and isinstance(error.filename, str) else ""
        return f"{error.strerror}{path}"
    return _NUMBER.sub("", str(error)) or type(error).__name__
