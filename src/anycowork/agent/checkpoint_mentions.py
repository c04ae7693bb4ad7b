"""Says what a checkpoint changed, for a message that names it."""

from anycowork.domain.snapshot_ports import SnapshotRows
from anycowork.domain.snapshots import PathImage, PathKind, Snapshot, SnapshotMoment, shown_path
from anycowork.domain.visible_text import UntrustedText, visible_line

SHORTEST_NAME = 8
MOST_PATHS = 50
_PAGE, _MOST_PAGES = 500, 10


async def describe_checkpoint(rows: SnapshotRows, chat_id: str, name: str) -> str | None:
    """Return when the checkpoint was made and which paths it changed. `name` is its id, or a beginning of it that no other shares.

    None if the chat has no such checkpoint, or several.
    """
    found = [one for one in await _all(rows, chat_id) if one.id.startswith(name)] if len(name) >= SHORTEST_NAME else []
    if len(found) != 1 or (whole := await rows.snapshot(chat_id, found[0].id)) is None:
        return None
    when = "before" if whole.moment is SnapshotMoment.BEFORE else "after"
    head = f"[Checkpoint {name}, made at {whole.created_at}, {when} a change of {_files(whole)}"
    if whole.pruned or not whole.images:
        return f"{head}. Its content is no longer stored.]" if whole.pruned else f"{head}.]"
    lines = [f"- {visible_line(UntrustedText(shown_path(image.path)))}{_state(image)}" for image in whole.images]
    more = [f"- and {len(lines) - MOST_PATHS} more"] if len(lines) > MOST_PATHS else []
    return "\n".join([f"{head}:]", *lines[:MOST_PATHS], *more])


async def _all(rows: SnapshotRows, chat_id: str) -> list[Snapshot]:
    found: list[Snapshot] = []
    before: int | None = None
    for _ in range(_MOST_PAGES):
        page, before = await rows.snapshots_page(chat_id, before=before, limit=_PAGE)
        found += page
        if before is None:
            break
    return found


def _files(snapshot: Snapshot) -> str:
    return "1 path" if snapshot.files == 1 else f"{snapshot.files} paths"


def _state(image: PathImage) -> str:
    if image.kind is PathKind.ABSENT:
        return " (not there at that moment)"
    return f" (+{image.additions} -{image.deletions} lines)" if image.additions or image.deletions else ""
