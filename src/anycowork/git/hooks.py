"""The hooks that a repository brings for a commit. They run as the person, and only those that a person allowed: a hook that changed
since is not run. Blocking."""

import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from anycowork.config.secure_files import replace_file
from anycowork.domain.errors import CommandFailed, OutsideWorkspace, ToolFault, ToolTimedOut
from anycowork.domain.files import shown_name
from anycowork.domain.git import GitHook
from anycowork.domain.values import value
from anycowork.git.git_process import read_configuration
from anycowork.git.own_git_folder import RepositoryPlace, find_repository
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

SECONDS = 300.0
_OF_A_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_LARGEST = 1 << 20
_MOST_SHOWN = 3_000


@value
class _HookFile:
    name: str
    path: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


class AllowedHooks:
    """Remembers which hooks a person allowed, by repository, name and hash."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / "git-hooks.json"

    def of(self, folder: Folder) -> list[GitHook]:
        """Returns the hooks that git would run at a commit, with their text. Raises: NoRepository, ToolFault."""
        repository = find_repository(folder)
        allowed = self._read().get(repository.common_folder, {})
        return [
            GitHook(
                hook.name, hook.sha256, hook.content.decode(errors="replace"), allowed.get(hook.name) == hook.sha256
            )
            for hook in _hook_files(folder, repository)
        ]

    def allow(self, folder: Folder, hashes: Mapping[str, str]) -> list[str]:
        """Allows the hooks that still have these hashes, no others; returns their names."""
        repository = find_repository(folder)
        hooks = {hook.name: hook.sha256 for hook in _hook_files(folder, repository)}
        allowed = {name: sha256 for name, sha256 in hashes.items() if hooks.get(name) == sha256}
        replace_file(self._file, msgspec.json.encode({**self._read(), repository.common_folder: allowed}))
        return sorted(allowed)

    def run_of(self, folder: Folder, prefix: Sequence[str], environment: Mapping[str, str]) -> "HookRun | None":
        """Returns what runs the allowed hooks at a commit; None if there are none."""
        repository = find_repository(folder)
        allowed = self._read().get(repository.common_folder, {})
        hooks = [hook for hook in _hook_files(folder, repository) if allowed.get(hook.name) == hook.sha256]
        return HookRun({hook.name: hook for hook in hooks}, prefix, environment) if hooks else None

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, dict[str, str]])
        except (OSError, ValueError):
            return {}


class HookRun:
    """Runs the allowed hooks of one commit. `prefix` are the words before the hook's path that confine it as a person's command."""

    def __init__(self, hooks: Mapping[str, _HookFile], prefix: Sequence[str], environment: Mapping[str, str]) -> None:
        self._hooks = hooks
        self._prefix = prefix
        self._environment = environment

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._hooks)

    def before_commit(self, folder: Folder, repository: RepositoryPlace, index: Path, message: str) -> str:
        """Runs what comes before a commit, and returns the message that the hooks leave. Raises: CommandFailed, ToolTimedOut."""
        environment = {"GIT_INDEX_FILE": str(index)}
        self._run("pre-commit", (), folder, repository, environment)
        with tempfile.TemporaryDirectory(prefix="anycowork-message-") as temporary_folder:
            file = Path(temporary_folder, "COMMIT_EDITMSG")
            file.write_text(message, "utf-8")
            self._run("prepare-commit-msg", (str(file), "message"), folder, repository, environment)
            self._run("commit-msg", (str(file),), folder, repository, environment)
            text = file.read_text("utf-8", errors="replace")
        if not text.strip():
            raise CommandFailed("The hooks left no commit message. Nothing was committed.")
        return text

    def after_commit(self, folder: Folder) -> None:
        """Runs what comes after a commit. Raises: CommandFailed, ToolTimedOut; the commit stays."""
        self._run("post-commit", (), folder, find_repository(folder), {})

    def _run(
        self,
        name: str,
        arguments: Sequence[str],
        folder: Folder,
        repository: RepositoryPlace,
        environment: Mapping[str, str],
    ) -> None:
        if (hook := self._hooks.get(name)) is None:
            return
        git_variables = {"GIT_DIR": repository.own_folder, "GIT_EDITOR": ":", "GIT_PREFIX": "", **environment}
        command = [*self._prefix, hook.path, *arguments]
        with tempfile.TemporaryFile() as output:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder.root,
                    env={**self._environment, **git_variables},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                raise CommandFailed(f"The hook '{name}' could not be started ({error.strerror}).") from None
            try:
                code = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                raise ToolTimedOut(f"The hook '{name}' did not finish within {SECONDS:.0f} seconds.") from None
            finally:
                _end(process)
            if code:
                size = output.seek(0, os.SEEK_END)
                output.seek(max(0, size - _MOST_SHOWN))
                text = output.read(_MOST_SHOWN).decode(errors="replace").strip()
                raise CommandFailed(f"The hook '{name}' ended with exit code {code}:\n{text}")


def hooks_not_run(folder: Folder, repository: RepositoryPlace) -> tuple[str, ...]:
    """Returns the names of the repository's hooks that git would run at a commit."""
    paths = _hooks_paths(repository)
    if paths and paths[-1].startswith(("/", "~")):
        return (f"those in {shown_name(paths[-1][:200])}",)
    return tuple(hook.name for hook in _hook_files(folder, repository))


def _hook_files(folder: Folder, repository: RepositoryPlace) -> list[_HookFile]:
    """Returns the hooks that lie in the repository or the workspace; those elsewhere on the machine are not run."""
    paths = _hooks_paths(repository)
    try:
        if not paths:
            return _executables(repository.jail, WorkspacePath((*repository.common, "hooks")))
        if paths[-1].startswith(("/", "~")):
            return []
        return _executables(folder.jail, folder.jail.place(paths[-1]))
    except (ToolFault, OutsideWorkspace):
        return []


def _hooks_paths(repository: RepositoryPlace) -> list[str]:
    return [text for _, text in read_configuration(repository, r"^core\.hookspath$")]


def _executables(jail: Jail, hooks: WorkspacePath) -> list[_HookFile]:
    files = []
    for name in _OF_A_COMMIT:
        path = hooks.child(name)
        status = jail.stat(path)
        if status is None or not status.st_mode & 0o111:
            continue
        try:
            with jail.regular_file(path) as (fd, _), os.fdopen(os.dup(fd), "rb") as file:
                content = file.read(_LARGEST + 1)
        except (ToolFault, OutsideWorkspace):
            continue
        if len(content) <= _LARGEST:  # what cannot be shown whole is never allowed
            files.append(_HookFile(name, str(Path(jail.root, *path.parts)), content))
    return files


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # what it left in the background too
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()
