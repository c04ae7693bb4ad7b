"""Runs checks of the audit chains for the running server: one at a time, in a thread, to be watched and stopped."""

import asyncio

from anycowork.config.settings import Settings
from anycowork.domain.errors import Conflict
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.server.audit.audit_check import AuditProgress, check_audit

_PAUSE = 0.001  # seconds after each page of records, in which the event loop gets its turn


class AuditService:
    """Checks of all audit chains, one at a time."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._running: AuditProgress | None = None

    async def verify(self, *, full: bool) -> Json:
        """Returns the report. Raises: Conflict if a check runs already; StorageFault."""
        if self._running is not None:
            raise Conflict("The audit chain is being checked already. Wait for its end, or stop it.")
        progress = self._running = AuditProgress(pause=_PAUSE)
        try:
            report = await asyncio.to_thread(
                check_audit, self._settings, self._clock.now(), full=full, progress=progress
            )
        finally:
            progress.stop()  # if the server stops, so does the thread
            self._running = None
        return report.as_json()

    def progress(self) -> Json:
        now = self._running or AuditProgress()
        return {
            "running": self._running is not None,
            "chats": now.chats,
            "all_chats": now.all_chats,
            "records": now.records,
        }

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
