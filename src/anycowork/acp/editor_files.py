"""The editor's own view of files: unsaved buffers are read from it, and changes that passed the gate are brought into its buffers.

The editor is never asked to write anything but bytes that the server has written to the workspace already, and never over a
buffer with unsaved changes.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from acp.exceptions import RequestError
from acp.interfaces import Client
from pydantic import ValidationError

from anycowork.acp.handshake import EditorAbilities
from anycowork.acp.tool_calls import absolute_path, apply_hunks, diff_hunks
from anycowork.domain.messages import Json, json_object
from anycowork.domain.path_class import is_key_file

SECONDS = 5.0  # for one request: an editor answers from memory
MOST_FILES = 8  # that a prompt mentions, and that the agent used last
LARGEST_BUFFER = 200_000  # characters of an unsaved buffer that a prompt carries


class EditorFiles:
    """Those of one session. An editor that answers with an error, or too late, counts as one that has the file as it is on disk."""

    def __init__(self, editor: Client, session_id: str, workspace: str, abilities: EditorAbilities) -> None:
        self._editor, self._session_id, self._workspace = editor, session_id, workspace
        self._abilities = abilities
        self._used: dict[str, None] = {}

    async def unsaved_versions(self, mentioned: Sequence[str]) -> dict[str, str]:
        """The editor's versions of the mentioned files, and of those that the agent used last, where they differ from the disk."""
        if not self._abilities.reads:
            return {}
        paths = dict.fromkeys([*mentioned[:MOST_FILES], *reversed(self._used)])
        versions = {path: await self._unsaved_text(path) for path in [*paths][: 2 * MOST_FILES]}
        return {path: text for path, text in versions.items() if text is not None}

    async def _unsaved_text(self, path: str) -> str | None:
        """What the editor holds of this file of the workspace; None if that is on disk already, or is not to be passed on."""
        full_path = absolute_path(path, self._workspace)
        if full_path is None or is_key_file(path):
            return None
        text = await self._read(full_path)
        if text is None or len(text) > LARGEST_BUFFER:
            return None
        saved = await asyncio.to_thread(_hash_of_file, Path(full_path))
        return text if saved is not None and saved != _hash(text) else None

    async def follow_result(self, payload: Json) -> str | None:
        """Brings a change that was made into the editor's buffer. The path if unsaved changes of the person stand in the way."""
        fields = json_object(payload.get("facts"))
        path, before, after = (fields.get(name) for name in ("path", "before", "after"))
        if isinstance(path, str) and payload.get("status") == "ok":
            self._used.pop(path, None)
            self._used = dict.fromkeys([*self._used, path][-MOST_FILES:])
        if not (isinstance(path, str) and isinstance(before, str) and isinstance(after, str)):
            return None
        full_path = absolute_path(path, self._workspace)
        text = await self._read(full_path) if full_path is not None else None
        if full_path is None or text is None or _hash(text) == after:
            return None
        changed = apply_hunks(text, diff_hunks(str(payload.get("diff"))) or ()) if _hash(text) == before else None
        if changed is None or _hash(changed) != after:
            return path
        await self._write(full_path, changed)
        return None

    async def _read(self, full_path: str) -> str | None:
        if not self._abilities.reads:
            return None
        try:
            async with asyncio.timeout(SECONDS):
                answer = await self._editor.read_text_file(session_id=self._session_id, path=full_path)
        except (RequestError, ConnectionError, TimeoutError, ValidationError):
            return None
        return answer.content

    async def _write(self, full_path: str, text: str) -> None:
        if not self._abilities.writes:
            return  # it reads the disk again by itself
        try:
            async with asyncio.timeout(SECONDS):
                await self._editor.write_text_file(session_id=self._session_id, path=full_path, content=text)
        except (RequestError, ConnectionError, TimeoutError, ValidationError):
            pass  # the file on disk is right


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _hash_of_file(path: Path) -> str | None:
    """Returns the hash of the saved file; None if there is none. Blocking."""
    try:
        return sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except OSError:
        return None
