"""Memory is a plain file: what a person asks to remember becomes a line of the folder's AGENTS.md, after they saw the difference."""

from collections.abc import Awaitable, Callable

from anycowork.chats.files.file_edit_service import FileEditService
from anycowork.chats.files.file_service import FileService
from anycowork.chats.trust_service import TrustService
from anycowork.domain.errors import Invalid, NotFound
from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.values import value
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.workspace.diffs import diff
from anycowork.workspace.trusted_files import INSTRUCTIONS

HEADING = "## Remembered"


@value
class MemoryChange:
    """What remembering a note would do to the file; no diff if it holds the note already. `sha256` is the hash of its content now, None
    if there is no file."""

    sha256: str | None
    text: str
    diff: str

    def to_json(self) -> Json:
        return {"path": INSTRUCTIONS, "sha256": self.sha256, "diff": self.diff}


class MemoryService:
    """`instructions` returns the instruction file of a folder, with the trust that it has."""

    def __init__(
        self,
        *,
        files: FileService,
        edits: FileEditService,
        trust: TrustService,
        instructions: Callable[[str], Awaitable[SuppliedFile | None]],
        store: Store,
    ) -> None:
        self._files = files
        self._edits = edits
        self._trust = trust
        self._instructions = instructions
        self._store = store

    async def preview(self, principal: Principal, chat_id: str, note: str) -> MemoryChange:
        """Returns the change without making it. Raises: NotFound, NotAllowed, Invalid."""
        principal.require(Scope.DECIDE)
        before: str | None = None
        sha256: str | None = None
        try:
            content = (await self._files.file(principal, chat_id, INSTRUCTIONS, reveal=True)).content
        except NotFound:
            await require_chat_in_folder(self._store, chat_id)
        else:
            if content.text is None or not content.editable:
                raise Invalid(f"{INSTRUCTIONS} of this folder is not a text that can be written back.", param="text")
            before, sha256 = content.text, content.sha256
        after = with_note(before or "", note)
        difference = diff(None if before is None else before.encode(), after.encode(), INSTRUCTIONS)
        return MemoryChange(sha256, after, difference.text if after != before else "")

    async def remember(self, principal: Principal, chat_id: str, note: str, *, expected: str | None) -> Json:
        """Makes the change that was shown, as the person's own edit with a checkpoint. A file that was trusted, or is new, is
        trusted with its new content if the person may do that: they read what was added.

        Raises: as `preview`; ContentChanged if the file is not what was shown.
        """
        chat = await require_chat_in_folder(self._store, chat_id)
        earlier = await self._instructions(chat.workspace)
        change = await self.preview(principal, chat_id, note)
        if not change.diff:
            raise Invalid(f"{INSTRUCTIONS} holds this note already.", param="text")
        saved = await self._edits.save(principal, chat_id, INSTRUCTIONS, change.text, expected=expected)
        was_trusted = expected is None if earlier is None else earlier.trusted and earlier.sha256 == expected
        trusted = was_trusted and Scope.MANAGE in principal.scopes
        if trusted:
            await self._trust.trust(principal, chat.workspace, INSTRUCTIONS, saved.sha256, chat_id=chat_id)
        return {**saved.to_json(), "trusted": trusted}


def with_note(text: str, note: str) -> str:
    """Returns the file's text with the note as the last line of its list, or as it is if it holds the note already. Pure."""
    item = f"- {' '.join(note.split())}"
    lines = text.rstrip().split("\n") if text.strip() else []
    if any(line.strip() == item for line in lines):
        return text
    headings = [index for index, line in enumerate(lines) if line.strip() == HEADING]
    if not headings:
        return "\n".join([*lines, *([""] if lines else []), HEADING, "", item, ""])
    following = range(headings[-1] + 1, len(lines))
    end = next((index for index in following if lines[index].startswith("#")), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    gap = [""] if end == headings[-1] + 1 else []
    return "\n".join([*lines[:end], *gap, item, *lines[end:], ""])
