"""The process's own streams: usable in every locale, and what becomes of them when nobody can be told anything any more.

Light on purpose: it is loaded before the first word is read.
"""

import os
import sys


class OutputLost(Exception):
    """What was to be said could not be written: a full disk, say. That nobody reads any more is a BrokenPipeError instead."""


def make_stdio_usable() -> None:
    """Whatever the locale, no character is an error. A stream that was closed from the start swallows what is said."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        else:
            stream.reconfigure(errors="backslashreplace")


def abandon_stdout() -> None:
    """Nobody reads it any more: what is still written goes nowhere, instead of failing once more at the very end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
