"""Finds out who made the version of a file that a task's version conflicts with: another task, an agent, a person, or a program outside."""

from enum import StrEnum

import msgspec

from anycowork.domain.jobs import task_names
from anycowork.domain.messages import Json
from anycowork.domain.snapshots import PathImage, RecordedChange, Snapshot, absent
from anycowork.domain.values import value
from anycowork.store.sql.store import Store

_MOST_SEARCHED = 200  # messages, newest first, for the one that names the person


class AuthorKind(StrEnum):
    TASK = "task"
    AGENT = "agent"
    PERSON = "person"
    OUTSIDE = "outside"


@value
class ConflictAuthor:
    """`name` is a task's, or a person's where it is recorded.

    `job_id` and `task_id` are set for a task, `chat_id` for everybody but a program outside."""

    kind: AuthorKind
    name: str | None = None
    chat_id: str | None = None
    job_id: str | None = None
    task_id: str | None = None

    def to_json(self) -> Json:
        return {
            "kind": self.kind.value,
            "name": self.name,
            "context_id": self.chat_id,
            "job_id": self.job_id,
            "task_id": self.task_id,
        }

    def words(self, *, job_id: str, chat_id: str) -> str:
        """Names the author to a person who looks at this job of this chat."""
        match self.kind:
            case AuthorKind.TASK:
                task = f"task {self.name or (self.task_id or '')[:80]}"
                return task if self.job_id == job_id else f"{task} of another job"
            case AuthorKind.AGENT:
                return "the agent of this chat" if self.chat_id == chat_id else "the agent of another chat"
            case AuthorKind.PERSON:
                return self.name or "a person"
            case AuthorKind.OUTSIDE:
                return "a program outside AnyCowork"


async def find_author(store: Store, workspace: str, now: PathImage) -> ConflictAuthor:
    """Returns who last changed this path of the workspace, by the recorded changes."""
    change = _last_change(await store.snapshots.changes_in(workspace), now.path)
    if change is None or not _left_by(change, now):
        return ConflictAuthor(AuthorKind.OUTSIDE)
    snapshot = change.before
    if snapshot.by_person:
        return ConflictAuthor(AuthorKind.PERSON, await _person_name(store, snapshot), snapshot.chat_id)
    turn = await store.turns.find(snapshot.turn_id) if snapshot.turn_id else None
    if turn is not None and turn.task_id is not None:
        names = task_names(await store.tasks.of_job(turn.job_id)) if turn.job_id else {}
        return ConflictAuthor(AuthorKind.TASK, names.get(turn.task_id), turn.chat_id, turn.job_id, turn.task_id)
    return ConflictAuthor(AuthorKind.AGENT, None, snapshot.chat_id)


def _last_change(changes: list[RecordedChange], path: str) -> RecordedChange | None:
    for change in reversed(changes):
        images = (*change.before.images, *(change.after.images if change.after else ()))
        if any(image.path == path for image in images):
            return change
    return None


def _left_by(change: RecordedChange, now: PathImage) -> bool:
    """Whether the path is still as this change left it."""
    if change.after is None:
        return False
    after = next((image for image in change.after.images if image.path == now.path), absent(now.path))
    return after.same_as(now)


async def _person_name(store: Store, snapshot: Snapshot) -> str | None:
    """Returns the name in the message about the change; None for the owner, and where it is not found."""
    page = await store.messages.page(snapshot.chat_id, limit=_MOST_SEARCHED)
    for body in page.bodies:
        payload = msgspec.json.decode(body).get("payload") or {}
        person_change = payload.get("person_change")
        if person_change is not None and person_change.get("snapshot") == snapshot.id:
            _, _, identity = str(person_change.get("by")).partition(":")
            return identity.partition(":")[2] or None
    return None
