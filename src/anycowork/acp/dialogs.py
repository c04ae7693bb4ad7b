"""The editor's permission dialogs: one at a time, and nothing but a chosen option counts as an answer."""

import asyncio
from collections.abc import Coroutine

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import AllowedOutcome
from pydantic import ValidationError

from anycowork.acp.permission_requests import PermissionRequest

DIALOG_SECONDS = 24 * 3600.0  # a person may be away; the chat waits on disk anyway


class NoAnswer(Exception):
    """The dialog brought no answer. It was cancelled, it failed, or the editor is gone."""

    def __init__(self, reason: str, *, is_cancelled: bool = False, editor_is_gone: bool = False) -> None:
        super().__init__(reason)
        self.is_cancelled = is_cancelled
        self.editor_is_gone = editor_is_gone


class Dialogs:
    """Those of one prompt. Each has a key, so that it ends when its question was decided elsewhere."""

    def __init__(
        self, editor: Client, session_id: str, tasks: asyncio.TaskGroup, *, seconds: float = DIALOG_SECONDS
    ) -> None:
        self._editor, self._session_id, self._tasks, self._seconds = editor, session_id, tasks, seconds
        self._open: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()

    def open(self, key: str, work: Coroutine[None, None, None]) -> None:
        """Starts what asks and acts on the answer. One that is open already is not opened again."""
        if key in self._open:
            work.close()
            return
        self._open[key] = self._tasks.create_task(work)

    def close(self, key: str) -> None:
        """The question was decided, here or elsewhere. The task that decides it ends by itself."""
        task = self._open.get(key)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def close_all(self) -> None:
        for key in self._open:
            self.close(key)

    async def ask(self, request: PermissionRequest) -> str:
        """The id of the option that the person chose. Raises: NoAnswer, for everything that is not such a choice."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(self._seconds):
                    answer = await self._editor.request_permission(
                        session_id=self._session_id, tool_call=request.tool_call, options=list(request.options)
                    )
            except TimeoutError:
                raise NoAnswer(f"no answer came within {self._seconds:g} seconds") from None
            except ConnectionError:
                raise NoAnswer("the editor is gone", editor_is_gone=True) from None
            except RequestError as error:
                raise NoAnswer(f"the editor answered with an error: {error}") from None
            except ValidationError:
                raise NoAnswer("the editor's answer is not one of the protocol") from None
        if not isinstance(answer.outcome, AllowedOutcome):
            raise NoAnswer("the dialog was cancelled", is_cancelled=True)
        if answer.outcome.option_id not in {option.option_id for option in request.options}:
            raise NoAnswer("the editor chose an option that was not offered")
        return answer.outcome.option_id
