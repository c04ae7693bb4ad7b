"""Walks a workspace's folders in a stable order, within limits, without what git ignores. Follows no links."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from anycowork.domain.errors import Refusal, ToolFault
from anycowork.domain.files import INTERNAL_NAMES
from anycowork.domain.values import leaf_value, mutable_value
from anycowork.workspace.ignores import Ignores
from anycowork.workspace.jail import Jail, kind_of
from anycowork.workspace.paths import WorkspacePath

_LARGEST_IGNORE_FILE = 100_000


@leaf_value
class WalkEntry:
    place: WorkspacePath
    kind: str
    size: int
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return self.kind == "folder"


@mutable_value
class FolderWalk:
    """Walks breadth first, so that a limit cuts the depths and not the top. `cut` tells afterwards whether a limit was reached.

    `depth` 1 is the folder's own entries. Folders named in `leave_out` are neither entered nor listed. `overrides` beat the workspace's
    own ignore rules.
    """

    jail: Jail
    depth: int = 1_000
    most: int = 10_000
    seconds: float = 5.0
    with_ignored: bool = False
    leave_out: frozenset[str] = frozenset()
    overrides: Ignores | None = None
    cut: bool = False

    def entries(self, start: WorkspacePath) -> Iterator[WalkEntry]:
        """Raises: FileMissing or WrongKind if `start` is not a folder. Skips deeper folders that cannot be read."""
        ends = time.monotonic() + self.seconds
        waiting = deque([(start, self.rules_for(start))])
        count = 0
        while waiting:
            folder, rules = waiting.popleft()
            try:
                names = self.jail.names(folder)
            except ToolFault:
                if folder == start:
                    raise
                continue
            rules = self.with_own_rules(folder, rules, names)
            for entry in self._kept(folder, names, rules):
                if count >= self.most or time.monotonic() > ends:
                    self.cut = True
                    return
                count += 1
                yield entry
                if entry.is_folder and len(entry.place.parts) - len(start.parts) < self.depth:
                    waiting.append((entry.place, rules))

    def rules_for(self, start: WorkspacePath) -> Ignores:
        """Returns the ignore rules of the folders above `start`; none if `start` itself is ignored, because the caller named it explicitly."""
        rules = Ignores()
        for depth in range(len(start.parts)):
            rules = self.with_own_rules(WorkspacePath(start.parts[:depth]), rules)
            if rules.ignored(start.parts[: depth + 1], is_folder=True):
                return Ignores()
        return rules

    def ignored_among(self, paths: Iterable[str]) -> list[str]:
        """Returns the topmost entries at or above these paths that the walk would leave out. An entry need not exist any more."""
        rules: dict[tuple[str, ...], Ignores | None] = {(): self.with_own_rules(WorkspacePath(()), Ignores())}
        ignored: dict[str, None] = {}
        for path in paths:
            parts = tuple(path.split("/"))
            for depth in range(1, len(parts) + 1):
                entry, is_folder = parts[:depth], depth < len(parts)
                above = rules[entry[:-1]]
                assert above is not None, "the loop ends at an ignored folder"
                if entry not in rules and is_folder:
                    left_out = entry[-1] in self.leave_out or self.is_ignored(above, entry, is_folder=True)
                    rules[entry] = None if left_out else self.with_own_rules(WorkspacePath(entry), above)
                if rules[entry] is None if is_folder else self.is_ignored(above, entry, is_folder=False):
                    ignored["/".join(entry)] = None
                    break
        return list(ignored)

    def _kept(self, folder: WorkspacePath, names: list[str], rules: Ignores) -> Iterator[WalkEntry]:
        has_rules = not self.with_ignored and (rules.has_patterns or self.overrides is not None)
        with self.jail.folder(folder) as fd:
            for name in names:
                try:
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except OSError:
                    continue  # deleted since it was listed
                entry = WalkEntry(folder.child(name), kind_of(status.st_mode), status.st_size, status)
                if name in self.leave_out and entry.is_folder:
                    continue
                if not has_rules or not self.is_ignored(rules, entry.place.parts, is_folder=entry.is_folder):
                    yield entry

    def is_ignored(self, rules: Ignores, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        verdict = self.overrides.verdict(parts, is_folder=is_folder) if self.overrides is not None else None
        return rules.ignored(parts, is_folder=is_folder) if verdict is None else verdict

    def with_own_rules(self, folder: WorkspacePath, rules: Ignores, names: list[str] | None = None) -> Ignores:
        """Returns the rules with those of the folder's own `.gitignore`; `names` are the folder's entries, if they are known."""
        if self.with_ignored or (names is not None and ".gitignore" not in names):
            return rules
        try:
            with self.jail.regular_file(folder.child(".gitignore")) as (fd, _):
                text = os.read(fd, _LARGEST_IGNORE_FILE).decode(errors="replace")
        except ToolFault:
            return rules
        return rules.deeper(folder.parts, text)


def find_files(jail: Jail, matches: Callable[[str], bool], most: int) -> list[tuple[str, str]]:
    """Returns the files whose paths match, nearest to the root first, each with the path that it leads to if it is a link."""
    files: list[tuple[str, str]] = []
    for entry in FolderWalk(jail, seconds=2.0, leave_out=INTERNAL_NAMES).entries(WorkspacePath(())):
        path = entry.place.path
        if entry.is_folder or not matches(path):
            continue
        try:
            files.append((path, path if entry.kind == "file" else jail.place(path).path))
        except (Refusal, ToolFault):
            continue  # it leads nowhere, or out of the workspace
        if len(files) == most:
            break
    return files
