"""Publishes the address of a running server."""

import logging
import os
from collections.abc import Callable

from anycowork import __version__
from anycowork.config.settings import Settings
from anycowork.domain.ports import Clock
from anycowork.domain.values import replace
from anycowork.server.browser_sessions import BrowserSessions, SignInCode
from anycowork.server.data_folder import DataFolderLock, ServerInfo
from anycowork.server.uvicorn_server import ListenAddress

NewCode = Callable[[float], SignInCode]
"""Makes a one-time sign-in code that is valid for this many seconds."""

log = logging.getLogger(__name__)


class Announcement:
    """Publishes where the server answers. The address stays the same when the server joins again."""

    def __init__(
        self,
        settings: Settings,
        folder: DataFolderLock,
        clock: Clock,
        ready: Callable[[ServerInfo, NewCode], None] | None,
    ) -> None:
        self.address = ListenAddress(settings.host, settings.port, settings.shutdown_seconds)
        self.published = False
        self._folder = folder
        self._clock = clock
        self._ready = ready

    def publish(self, sessions: BrowserSessions, port: int) -> None:
        self.address = replace(self.address, port=port)
        name = self.address.host
        info = ServerInfo(
            pid=os.getpid(),
            url=f"http://{f'[{name}]' if ':' in name else name}:{port}",
            host=name,
            port=port,
            started_at=self._clock.now(),
            version=__version__,
        )
        self._folder.announce(info)
        if self.published:
            log.warning("this server has joined the others again, and answers at %s", info.url)
        elif self._ready:
            self._ready(info, lambda seconds: sessions.offer(seconds))
        self.published = True
