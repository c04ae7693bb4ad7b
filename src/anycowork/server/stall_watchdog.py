"""Watches one event loop from a thread: logs when the loop does not answer in time, with the code lines that block it."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

log = logging.getLogger(__name__)
STALL_SECONDS = 0.1
_BUSY_PAUSE, _IDLE_PAUSE = 0.04, 0.2  # seconds between two checks: an idle loop is checked less often
_QUICK_ANSWER = 0.002
_MOST_LINES, _NAMED_LINES = 25, 3  # of a stack, and of it in a warning
_PROGRAM = str(Path(__file__).parents[1])
_LOG_EVERY = 10.0  # seconds: a server in trouble must not fill its log as well


def stall_log_level(log_format: str, stream: TextIO | None) -> int:
    """Returns the level at which stalls are logged. `stream` is the one to which the log goes.

    It helps nobody who looks at a terminal, and a loaded machine causes it without a fault: there only `debug` shows it. Files,
    journals and JSON logs have it as a warning of one line; the whole stack is logged as `debug` everywhere.
    """
    at_terminal = stream is not None and stream.isatty()
    return logging.DEBUG if log_format == "text" and at_terminal else logging.WARNING


class StallWatch:
    """Counts how often the loop was blocked for longer than `STALL_SECONDS`, and for how long at most."""

    def __init__(self, log_level: int = logging.WARNING) -> None:
        self._log_level = log_level
        self.stalls = 0
        self.longest = 0.0
        self.measured: Callable[[float], None] = lambda seconds: None
        """Called on the watch's thread with how late the loop answered. It must not raise."""
        self._ended = threading.Event()
        self._last_logged = -_LOG_EVERY

    @contextmanager
    def watching(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Enter it on the loop's own thread."""
        thread = threading.Thread(
            target=self._watch, args=(loop, threading.get_ident()), name="stall-watch", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            self._ended.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, watched: int) -> None:
        pause = _BUSY_PAUSE
        while not self._ended.wait(pause):
            answered = threading.Event()
            asked_at = time.monotonic()
            try:
                loop.call_soon_threadsafe(answered.set)
            except RuntimeError:
                return  # the loop was closed
            if not answered.wait(STALL_SECONDS - _BUSY_PAUSE):
                self._wait_for_the_end(answered, asked_at, watched)
            self.measured(_since(asked_at))
            pause = _IDLE_PAUSE if time.monotonic() - asked_at < _QUICK_ANSWER else _BUSY_PAUSE

    def _wait_for_the_end(self, answered: threading.Event, asked_at: float, watched: int) -> None:
        """Captures the stack while the loop is still blocked; the duration is known when it continues."""
        stack = _stack_of(watched)
        while not answered.wait(1.0) and not self._ended.is_set():
            log.log(self._log_level, "the event loop has not answered for %.1f s: %s", _since(asked_at), _place(stack))
            log.debug("the event loop is blocked in:\n%s", _lines(stack))
            stack = _stack_of(watched)
        lasted = _since(asked_at)
        if lasted < STALL_SECONDS:
            return
        self.stalls += 1
        self.longest = max(self.longest, lasted)
        if time.monotonic() - self._last_logged >= _LOG_EVERY:
            self._last_logged = time.monotonic()
            log.log(self._log_level, "the event loop was blocked for %.0f ms: %s", lasted * 1000, _place(stack))
            log.debug("the event loop was blocked in:\n%s", _lines(stack))


def _since(start: float) -> float:
    return time.monotonic() - start


def _stack_of(thread: int) -> traceback.StackSummary:
    """Returns the thread's current stack, the innermost frame last; no values, only code locations."""
    frame = sys._current_frames().get(thread)
    frames = traceback.walk_stack(frame) if frame is not None else iter(())
    stack = traceback.StackSummary.extract(frames, limit=_MOST_LINES, lookup_lines=False)
    stack.reverse()
    return stack


def _lines(stack: traceback.StackSummary) -> str:
    return "".join(stack.format())


def _place(stack: traceback.StackSummary) -> str:
    """Returns the innermost line of this program, and the innermost lines of all."""
    ours = [frame for frame in stack if frame.filename.startswith(_PROGRAM)]
    frames = (*ours[-1:], *stack[-_NAMED_LINES:])
    return " > ".join(dict.fromkeys(f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames))


def _short(filename: str) -> str:
    return "/".join(Path(filename).parts[-3:])
