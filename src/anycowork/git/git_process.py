"""Runs git with an environment of our own, a time limit and a limit for what it prints. Blocking."""

import itertools
import os
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence

from anycowork.domain.errors import CommandFailed, ToolFault, ToolTimedOut
from anycowork.workspace.paths import shown

SECONDS = 20.0
MOST_PRINTED = 2_000_000  # bytes
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "HOME": "/nonexistent",
}
# Whatever a configuration says: no program is run for any of these.
_SAFE = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null", "core.untrackedCache=false", "core.sshCommand=false", "commit.gpgSign=false",
    "gpg.program=false", "gc.auto=0", "maintenance.auto=false", "protocol.allow=never",
)  # fmt: skip


def run_git(
    arguments: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    seconds: float = SECONDS,
    stdin: bytes = b"",
    good: Collection[int] = (0,),
) -> bytes:
    """Returns what git printed, at most the limit and one byte. `good` are the exit codes of success.

    Raises: CommandFailed, ToolTimedOut, ToolFault if there is no git.
    """
    options = [word for setting in _SAFE for word in ("-c", setting)]
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                ["git", "--no-pager", "--literal-pathspecs", *options, *arguments],
                cwd=folder,
                env={"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **environment},
                input=stdin,
                stdout=printed,
                stderr=errors,
                timeout=seconds,
                check=False,
            )
        except FileNotFoundError:
            raise ToolFault("Git is not installed on the server's machine.") from None
        except subprocess.TimeoutExpired:
            raise ToolTimedOut(f"Git did not finish within {seconds:.0f} seconds.") from None
        printed.seek(0)
        errors.seek(0)
        if done.returncode not in good:
            raise CommandFailed(f"Git failed: {_reason(errors.read(4000).decode(errors='replace'))}")
        return printed.read(MOST_PRINTED + 1)


def require_one_file(names: bytes, path: str) -> None:
    """Raises: ToolFault if git, with `-z --name-only`, lists anything but this very path: who judged the path has not judged the rest."""
    if {*names.split(b"\0")} - {b"", os.fsencode(path)}:
        raise ToolFault(f"'{shown(path)}' is not the path of one file, as git lists it.")


def _reason(text: str) -> str:
    """The first error with the files that git lists below it, else the last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if line.startswith(("error: ", "fatal: ")):
            listed = itertools.takewhile(lambda below: below.startswith("\t"), lines[number + 1 :])
            return f"{line} {', '.join(path.strip() for path in listed)}".strip()[:300]
    return lines[-1][:300] if lines else "no message"
