"""Makes the process's standard streams usable in every locale, and handles their loss.

Light on purpose: it is imported before the command line is parsed.
"""

import os
import sys


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
