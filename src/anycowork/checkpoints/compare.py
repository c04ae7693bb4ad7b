"""Compares two sets of images, as text and in numbers. Uses the diff engine of `diffs.py`."""

from collections.abc import Callable, Sequence

from anycowork.domain.path_summary import folder_counts
from anycowork.domain.snapshots import FileDifference, PathImage, PathKind, absent
from anycowork.domain.values import value
from anycowork.workspace.diffs import LARGEST_DIFFED, LONGEST_DIFF, Diff, cached_diff, diff, moved
from anycowork.workspace.paths import shown

MOST_COMPARED = 200  # files whose content is compared; of the others only the names are listed
MOST_NAMED = 2_000  # of the others; beyond it they are counted by folder
_VERBS = {"added": "created", "deleted": "deleted"}

Content = Callable[[PathImage], bytes | None]
"""Returns the bytes of an image that has content; None if they are too many, or gone."""


@value
class Comparison:
    text: str
    files: tuple[FileDifference, ...]

    @property
    def additions(self) -> int:
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)


def compare(before: Sequence[PathImage], after: Sequence[PathImage], *, old: Content, new: Content) -> Comparison:
    """Returns a diff for people, and counts; `old` and `new` fetch the content where it is compared."""
    pairs = _changed(before, after)
    renames = _renames(pairs)
    arrived = set(renames.values())
    folders = {path.rpartition("/")[0] for path in pairs}
    holders = {
        "/".join(parts[:depth]) for parts in (path.split("/") for path in folders) for depth in range(1, len(parts) + 1)
    }
    texts: list[str] = []
    files: list[FileDifference] = []
    for path, (was, now) in pairs.items():
        if path in arrived or not _is_listed(was, now, holders):
            continue
        if len(files) >= MOST_COMPARED:
            files.append(FileDifference(renames.get(path, path), "renamed" if path in renames else _status(was, now)))
            continue
        if path in renames:
            path_diff, status, name = moved(shown(path), shown(renames[path])), "renamed", renames[path]
        else:
            path_diff, status, name = _compare_path(was, now, old, new)
        files.append(FileDifference(name, status, path_diff.additions, path_diff.deletions))
        texts.append(path_diff.text)
    return Comparison(_bounded(texts) + _others(files[MOST_COMPARED:]), tuple(files))


def _others(files: Sequence[FileDifference]) -> str:
    """Lists what was not compared: each by name, or very many by folder."""
    if not files:
        return ""
    if len(files) <= MOST_NAMED:
        return f"Not compared:\n{''.join(f'  {file.status} {shown(file.path)}{chr(10)}' for file in files)}"
    counts = folder_counts([(file.path, _VERBS.get(file.status, "modified")) for file in files])
    lines = "".join(f"  {shown(count.line())}\n" for count in counts)
    return f"Not compared: {len(files):,} more files, by folder:\n{lines}"


def _changed(before: Sequence[PathImage], after: Sequence[PathImage]) -> dict[str, tuple[PathImage, PathImage]]:
    olds, news = ({image.path: image for image in side} for side in (before, after))
    pairs = {
        path: (olds.get(path) or absent(path), news.get(path) or absent(path)) for path in sorted({**olds, **news})
    }
    return {path: (was, now) for path, (was, now) in pairs.items() if not was.same_as(now)}


def _renames(pairs: dict[str, tuple[PathImage, PathImage]]) -> dict[str, str]:
    """Matches content that disappeared at one path and appeared at another, each used once."""
    removed_paths: dict[tuple[PathKind, str | None, int], list[str]] = {}
    for path, (was, now) in pairs.items():
        if was.has_content and now.kind is PathKind.ABSENT:
            removed_paths.setdefault((was.kind, was.hash, was.mode), []).append(path)
    renames = {}
    for path, (was, now) in pairs.items():
        sources = removed_paths.get((now.kind, now.hash, now.mode)) if was.kind is PathKind.ABSENT else None
        if sources:
            renames[sources.pop(0)] = path
    return renames


def _is_listed(was: PathImage, now: PathImage, holders: set[str]) -> bool:
    """Tells whether the change gets a line: a folder that is created or removed with its content does not."""
    return PathKind.FOLDER not in (was.kind, now.kind) or was.kind is now.kind or was.path not in holders


def _compare_path(was: PathImage, now: PathImage, old: Content, new: Content) -> tuple[Diff, str, str]:
    name = shown(was.path)
    status = _status(was, now)
    if PathKind.FOLDER in (was.kind, now.kind):
        verb = {"added": "new folder", "deleted": "delete folder"}.get(status, "change folder")
        return Diff(f"{verb} {name}\n{_modes(was, now)}"), status, was.path
    if was.hash == now.hash:
        return Diff(f"--- a/{name}\n+++ b/{name}\n{_modes(was, now)}"), status, was.path
    if (cached := cached_diff(was.hash, now.hash, was.path)) is not None:
        return Diff(_modes(was, now) + cached.text, cached.additions, cached.deletions), status, was.path
    before, after = old(was) if was.has_content else None, new(now) if now.has_content else None
    if (was.has_content and before is None) or (now.has_content and after is None):
        return Diff(f"--- a/{name}\n+++ b/{name}\nToo large to compare, or no longer kept.\n"), status, was.path
    file_diff = diff(before, after, name)
    return Diff(_modes(was, now) + file_diff.text, file_diff.additions, file_diff.deletions), status, was.path


def _status(was: PathImage, now: PathImage) -> str:
    return "added" if was.kind is PathKind.ABSENT else "deleted" if now.kind is PathKind.ABSENT else "modified"


def _modes(was: PathImage, now: PathImage) -> str:
    if PathKind.ABSENT in (was.kind, now.kind) or (was.kind, was.mode) == (now.kind, now.mode):
        return ""
    return f"{was.kind.value} {was.mode:o} → {now.kind.value} {now.mode:o}\n"


def comparable(image: PathImage) -> bool:
    return image.size <= LARGEST_DIFFED


def _bounded(texts: list[str]) -> str:
    text = "".join(texts)
    return text if len(text) <= LONGEST_DIFF else text[:LONGEST_DIFF] + "\n… the diff continues.\n"
