"""Opens a plan's steps in the person's own editor."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from pydantic import JsonValue
from textual.app import App, SuspendNotSupported

from anycowork.domain.errors import Invalid


def edited_steps(app: App[None], steps: JsonValue) -> list[JsonValue] | None:
    """Returns the edited steps; None if nothing was changed. Raises: Invalid if the text is not a list of steps."""
    editor = _editor()
    with TemporaryDirectory(prefix="anycowork-plan-") as folder:
        file = Path(folder) / "steps.json"
        file.write_bytes(msgspec.json.format(msgspec.json.encode(steps), indent=2) + b"\n")
        try:
            with app.suspend():
                ended = subprocess.run([*editor, str(file)], check=False).returncode
        except SuspendNotSupported:
            raise Invalid("This terminal cannot start an editor. Edit the plan on the web page.") from None
        except OSError as error:
            raise Invalid(f"The editor {editor[0]} could not be started ({error.strerror}). Set EDITOR.") from error
        if ended:
            raise Invalid(f"The editor ended with {ended}; the plan is unchanged.")
        return _changed(file.read_bytes(), steps)


def _changed(written: bytes, steps: JsonValue) -> list[JsonValue] | None:
    try:
        found = msgspec.json.decode(written)
    except msgspec.DecodeError as error:
        raise Invalid(f"Your text is not JSON ({error}); the plan is unchanged.") from error
    if not isinstance(found, list) or not found:
        raise Invalid("Your text is not a list of steps; the plan is unchanged.")
    return None if found == steps else found


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        if words := shlex.split(os.environ.get(name, "")):
            return words
    return [next((found for found in ("nano", "vim", "vi") if shutil.which(found)), "vi")]
