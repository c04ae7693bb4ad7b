"""Opens a plan's steps, or a file that is merged by hand, in the person's own editor."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from pydantic import JsonValue
from textual.app import App, SuspendNotSupported

from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Invalid
from anycowork.domain.visible_text import bare_lines
from anycowork.workspace.merges import DRAFT_END, DRAFT_START


def edited_steps(app: App[None], steps: JsonValue) -> list[JsonValue] | None:
    """Returns the edited steps; None if nothing was changed. Raises: Invalid if the text is not a list of steps."""
    text = msgspec.json.format(msgspec.json.encode(steps), indent=2) + b"\n"
    return _changed(_edited(app, "steps.json", text), steps)


def merged_by_hand(app: App[None], path: str, draft: str) -> str | None:
    """Returns the file as the person merged it; None if the draft was not changed. Raises: Invalid if marks are left, or it is no text."""
    suffix = Path(path).suffix
    name = f"merge{suffix}" if suffix.removeprefix(".").isalnum() else "merge.txt"
    try:
        text = _edited(app, name, draft.encode()).decode()
    except UnicodeDecodeError:
        raise Invalid("Your text is not UTF-8; nothing was answered.") from None
    if any(line.startswith((DRAFT_START, DRAFT_END)) for line in bare_lines(text)):
        raise Invalid(
            "The text still has marks of both versions; nothing was answered. Choose the merge again and take them out."
        )
    return None if text == draft else text


def _edited(app: App[None], name: str, text: bytes) -> bytes:
    """Returns the text as the editor left it. Raises: Invalid."""
    editor = _editor()
    with TemporaryDirectory(prefix="anycowork-edit-") as folder:
        file = Path(folder) / name
        file.write_bytes(text)
        try:
            with app.suspend():
                exit_code = subprocess.run([*editor, str(file)], check=False).returncode
        except SuspendNotSupported:
            raise Invalid("This terminal cannot start an editor. Edit it on the web page.") from None
        except OSError as error:
            raise Invalid(f"The editor {editor[0]} could not be started ({error.strerror}). Set EDITOR.") from error
        if exit_code:
            raise Invalid(f"The editor ended with {exit_code}; nothing was changed.")
        return file.read_bytes()


def _changed(written: bytes, steps: JsonValue) -> list[JsonValue] | None:
    try:
        edited = read_json(written)
    except ValueError as error:
        raise Invalid(f"Your text is not JSON ({error}); the plan is unchanged.") from error
    if not isinstance(edited, list) or not edited:
        raise Invalid("Your text is not a list of steps; the plan is unchanged.")
    return None if edited == steps else edited


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        if command := shlex.split(os.environ.get(name, "")):
            return command
    return [next((program for program in ("nano", "vim", "vi") if shutil.which(program)), "vi")]
