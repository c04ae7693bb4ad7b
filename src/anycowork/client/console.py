"""Console output: answers to stdout, everything else to stderr; colour only on a terminal and never with NO_COLOR.

Streams that are unusable are made usable, and what a program printed is shown without its terminal escapes.
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from typing import TextIO

from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, VisibleText, is_hidden, visible

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
# A control sequence, a string such as a title or a link, or one that is shorter. No quantifier gives back what it took.
_ESCAPE = re.compile(r"\x1b(?:\[[ -?]{0,4096}+[@-~]?|[\]PX^_][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)?|[()#]?[^\x1b\n]?)")


class OutputLost(Exception):
    """The output could not be written, for example because the disk is full. A reader that is gone raises BrokenPipeError instead."""


def make_stdio_usable() -> None:
    """Makes no character an error, whatever the locale. A stream that was closed from the start discards its output."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        else:
            stream.reconfigure(errors="backslashreplace")


def abandon_stdout() -> None:
    """Discards all further output: nobody reads it, and flushing it at exit would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@value
class Console:
    """One stream with or without colour. Removes control characters from untrusted text, so that it cannot control a terminal."""

    stream: TextIO
    colour: bool

    @classmethod
    def on(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> "Console":
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        return cls(stream, colour=stream.isatty() and not plain)

    def line(self, text: str = "") -> None:
        """Raises: OutputLost; BrokenPipeError if the reader is gone."""
        try:
            self.stream.write(text + "\n")
            self.stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(f"The output could not be written ({error.strerror}).") from error

    def json(self, text: str) -> None:
        """Writes JSON for programs: hidden characters as JSON escapes, and everything but ASCII if the stream is not UTF-8."""
        speaks_unicode = (self.stream.encoding or "").lower() in ("utf-8", "utf8")
        is_safe = (lambda char: not is_hidden(char)) if speaks_unicode else str.isascii
        plain = text.isascii() or (speaks_unicode and text.isprintable())
        self.line(
            text
            if plain
            else "".join(char if char == "\n" or is_safe(char) else json.dumps(char)[1:-1] for char in text)
        )

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour else text


def stdout() -> Console:
    return Console.on(sys.stdout)


def stderr() -> Console:
    return Console.on(sys.stderr)


def strip_controls(text: str) -> str:
    """Makes untrusted text safe to show: keeps line breaks and tabs, makes hidden and misleading characters visible."""
    return visible(UntrustedText(text))


def shortened(text: str, limit: int) -> str:
    """Returns one line of at most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def printed_text(raw: str) -> VisibleText:
    """Returns what would be left on a screen: of a line that was written anew, as by a progress bar, the last writing."""
    plain = _ESCAPE.sub("", raw).replace("\r\n", "\n") if "\x1b" in raw or "\r" in raw else raw
    lines = [line.removesuffix("\r").rpartition("\r")[2] for line in plain.split("\n")] if "\r" in plain else [plain]
    return visible(UntrustedText("\n".join(lines)))
