"""The restores that run now: their progress is published as events, and a person can stop them."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anycowork.domain import event_factory
from anycowork.store.sql.journal import Journal


class RunningRestore:
    """One restore, from its request on. Its files are written in a thread, which reports and looks here. `is_over`: all are written."""

    def __init__(self, publish: Callable[[int, int], None]) -> None:
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self.is_over = False

    def stop(self) -> None:
        self._stop.set()

    def is_stopped(self) -> bool:
        return self._stop.is_set()

    def report(self, done: int, total: int) -> None:
        self._loop.call_soon_threadsafe(self._publish, done, total)


class RunningRestores:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._of_chat: dict[str, list[RunningRestore]] = {}

    @contextmanager
    def running(self, chat_id: str, snapshot_id: str) -> Iterator[RunningRestore]:
        def publish(done: int, total: int) -> None:
            self._journal.show_event(chat_id, event_factory.restore_progress(snapshot_id, done, total))

        restore = RunningRestore(publish)
        self._of_chat.setdefault(chat_id, []).append(restore)
        try:
            yield restore
        finally:
            self._of_chat[chat_id].remove(restore)
            if not self._of_chat[chat_id]:
                del self._of_chat[chat_id]

    def stop(self, chat_id: str) -> bool:
        """Returns whether there was one to stop."""
        running = [restore for restore in self._of_chat.get(chat_id, []) if not restore.is_over]
        for restore in running:
            restore.stop()
        return bool(running)
