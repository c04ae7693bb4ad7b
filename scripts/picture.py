"""Draws docs/screens/terminal.svg: a real walk with the guide, typed at a real terminal of its own, coloured as a person sees it."""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "screens" / "terminal.svg"
WIDTH = 104
PLAN = '\'create hello.py with "print(1 + 1)" then append "- a greeting" to notes.md\''
WALK = (
    f"anycowork run --role planner {PLAN} > plan.json",
    "anycowork run --approved-plan plan.json",
    "anycowork run 'run `python hello.py`'",
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "work").mkdir()
        (home / "work" / "notes.md").write_text("# Notes\n")
        typed = [(command, at_a_terminal(command, home)) for command in WALK]
    screen = Console(record=True, width=WIDTH, file=io.StringIO())
    for command, output in typed:
        screen.print(Text("$ ", "bold green") + Text(command, "bold"))
        screen.print(Text.from_ansi(tidy(output, folder)))
        screen.print()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(without_remote_fonts(screen.export_svg(title="AnyCowork")), "utf-8")
    print(f"Drew {PICTURE.relative_to(ROOT)}")


def at_a_terminal(command: str, home: Path) -> str:
    """What the command shows on a terminal; its standard output may go elsewhere, as it says."""
    master, slave = pty.openpty()
    environ = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLUMNS": str(WIDTH),
        "ANYCOWORK_DATA_DIR": str(home / "data"),
        "ANYCOWORK_PROBE_LOCAL_SERVERS": "false",
    }
    shell = subprocess.Popen(["bash", "-c", command], cwd=home / "work", env=environ, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    shell.wait()
    os.close(master)
    return shown.decode().replace("\r\n", "\n").strip("\n")


def tidy(text: str, folder: str) -> str:
    """Paths of the machine that drew it say nothing to a reader."""
    return text.replace(folder, "~")


def without_remote_fonts(svg: str) -> str:
    """The picture must not fetch anything: the reader's own monospace font is fine."""
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    main()
