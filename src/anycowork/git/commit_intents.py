"""The commits that people asked for and whose result is not recorded yet, one file each: they show the next start what a crash cut off."""

import asyncio
import logging
from pathlib import Path

import msgspec

from anycowork.config.secure_files import OWNER_ONLY_FOLDER, replace_file
from anycowork.domain.errors import StorageFault
from anycowork.domain.git import CommitIntent

FOLDER = "git-commits"
log = logging.getLogger(__name__)


class CommitIntentFiles:
    """Keeps each commit that was begun, until its result is recorded."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    async def put(self, intent: CommitIntent) -> None:
        """Durable on return. Raises: StorageFault."""
        await asyncio.to_thread(self._put, intent)

    async def remove(self, intent: CommitIntent) -> None:
        await asyncio.to_thread((self._folder / f"{intent.message_id}.json").unlink, missing_ok=True)

    async def all(self) -> list[CommitIntent]:
        return await asyncio.to_thread(self._all)

    def _put(self, intent: CommitIntent) -> None:
        try:
            self._folder.mkdir(mode=OWNER_ONLY_FOLDER, exist_ok=True)
        except OSError as error:
            raise StorageFault(f"The folder {self._folder} cannot be created ({error.strerror}).") from error
        fields = [
            intent.message_id,
            intent.chat_id,
            intent.commit,
            intent.parent,
            list(intent.paths),
            intent.by,
            intent.what,
        ]
        replace_file(self._folder / f"{intent.message_id}.json", msgspec.json.encode(fields))

    def _all(self) -> list[CommitIntent]:
        intents = []
        for file in sorted(self._folder.glob("*.json")):
            try:
                message_id, chat_id, commit, parent, paths, by, action = msgspec.json.decode(
                    file.read_bytes(), type=_Fields
                )
                intents.append(CommitIntent(message_id, chat_id, commit, parent, tuple(paths), by, action))
            except (OSError, ValueError) as error:
                log.warning("what became of a commit is not known: %s cannot be read (%s)", file, error)
        return intents


_Fields = tuple[str, str, str, str | None, list[str], str, str]
