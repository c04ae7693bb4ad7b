"""`anycowork chat` in a real terminal: a process of its own on a pseudo-terminal, with a server of its own."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.cli_process import WHOLE_PROCESS, CommandLine
from support.processes import ready_to_read
from support.spec import proves


class Terminal:
    """What was written to it so far, and a keyboard."""

    def __init__(self, process: subprocess.Popen[bytes], side: int) -> None:
        self.process = process
        self._side = side
        self.written = b""

    def type(self, keys: bytes) -> None:
        """What was written before is forgotten: what follows is what came of it."""
        self.written = b""
        os.write(self._side, keys)

    def press_until(self, key: bytes, words: str) -> None:
        """Goes to what waits (F2) and presses, again and again: a key does nothing in the first moment, nor soon after typing."""
        for _ in range(60):
            for keys, pause in ((b"\x1bOQ", 1.2), (key, 0.8)):
                self.type(keys)
                while ready_to_read(self._side, seconds=pause):
                    self.written += self._read()
                    if words.encode() in self.written:
                        return
        raise AssertionError(f"{words!r} never came: {self.written[-2000:]!r}")

    def read_until(self, words: str) -> None:
        until = time.monotonic() + WHOLE_PROCESS
        while words.encode() not in self.written:
            left = until - time.monotonic()
            if left <= 0 or not ready_to_read(self._side, seconds=left):
                raise AssertionError(f"{words!r} never came: {self.written[-2000:]!r}")
            self.written += self._read()

    def read_to_the_end(self) -> None:
        while ready_to_read(self._side, seconds=WHOLE_PROCESS):
            piece = self._read()
            if not piece:
                return
            self.written += piece

    def _read(self) -> bytes:
        try:
            return os.read(self._side, 65536)
        except OSError:  # EIO: the other side is closed
            return b""


@contextmanager
def terminal(cli: CommandLine, *words: str, **environ: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "anycowork.cli.main", *words],
        cwd=cli.workspace,
        env=cli.environ(TERM="xterm-256color", COLORTERM="truecolor", **environ),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@proves("CLI-2", "NEW-1", "UI-10")
def test_a_newcomer_talks_to_the_guide_runs_a_command_of_their_own_and_leaves(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    (cli.workspace / "notes.txt").write_text("buy milk\n")
    with terminal(cli, "chat") as at:
        at.read_until("A new chat in")
        at.type(b"list the files\r")
        at.read_until("notes.txt")
        at.read_until("These are the files")
        at.type(b"!tr a-z A-Z < notes.txt; sleep 600\r")
        at.read_until("BUY MILK")  # while it runs
        at.type(b"\x03")
        at.read_until("stopped")
        at.type(b"\x11")  # Ctrl+Q
        at.read_to_the_end()
        assert at.process.wait(WHOLE_PROCESS) == 0
        assert b"Continue with: anycowork chat " in at.written
        assert b"\x1b[?1049l" in at.written  # the terminal is as it was


@proves("CLI-2")
def test_what_is_typed_before_the_screen_is_there_stands_in_the_line(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    (cli.workspace / "notes.txt").write_text("buy milk\n")
    with terminal(cli, "chat") as at:
        at.type(b"list the")
        at.read_until("A new chat in")
        at.type(b" files\r")
        at.read_until("These are the files")


@proves("CLI-2")
def test_ctrl_c_twice_leaves_and_the_chat_is_taken_up_again(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    with terminal(cli, "chat", "--role", "reviewer") as at:
        at.read_until("A new chat in")
        at.type(b"\x03")
        at.read_until("once more to leave")
        at.type(b"\x03\x03")  # on a busy machine the time for "once more" may be over: then the first of them asks anew
        at.read_to_the_end()
        assert at.process.wait(WHOLE_PROCESS) == 0
    with terminal(cli, "chat", "--continue") as at:
        at.read_until("reviewer")


@proves("CLI-2", "PLN-3")
def test_a_plan_is_edited_in_the_persons_own_editor_and_then_carried_out(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    with terminal(cli, "chat", "--role", "planner", EDITOR="sed -i s/hello/hallo/g") as at:
        at.read_until("A new chat in")
        at.type(b"create hello.txt with hi\r")
        at.read_until("to approve or edit it")
        at.press_until(b"e", "The plan has 1 step now.")
        at.type(b"\r")
        at.read_until("hallo.txt")
        at.read_until("Created")
    assert [path.name for path in cli.workspace.iterdir()] == ["hallo.txt"]


@proves("CLI-2")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["chat"], "needs a terminal"),
        (["chat", "--help"], None),
    ],
    ids=["without a terminal", "its help"],
)
def test_without_a_terminal_it_says_what_to_use_instead(tmp_path: Path, words: list[str], told: str | None) -> None:
    done = CommandLine(tmp_path).type(*words, piped="")
    assert done.returncode == (2 if told else 0)
    assert (told or "--continue") in done.stderr + done.stdout


@proves("CLI-2")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--continue"], "There is no chat in"),
        (["no-such-chat"], "no-such-chat"),
        (["--continue", "x"], "not both"),
        (["--continue", "--role", "planner"], "Ctrl+R"),
        (["--role", "king"], "king"),
    ],
)
def test_what_cannot_be_opened_is_said_before_the_screen_is_taken(tmp_path: Path, words: list[str], told: str) -> None:
    with terminal(CommandLine(tmp_path), "chat", *words) as at:
        at.read_until(told)
        at.read_to_the_end()
        assert at.process.wait(WHOLE_PROCESS) in (1, 2)
        assert b"\x1b[?1049h" not in at.written
