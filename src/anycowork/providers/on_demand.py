"""A model server that is started when needed and borrowed for the duration of one request."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from anycowork.domain.model import Provider
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.upstream import Upstream


class OnDemandProvider(Provider, Protocol):
    """A built-in provider that answers like any other and lends its server to the passthrough."""

    @property
    def timeouts(self) -> Timeouts: ...

    def acquire(self, model: str) -> AbstractAsyncContextManager[Upstream]:
        """Provides its server, started if necessary, while the block lasts. Raises: ProviderFault."""
