"""A model's server that is not there until somebody needs it: lent for as long as one request takes."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from anycowork.domain.model import Provider
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.upstream import Upstream


class OnDemandProvider(Provider, Protocol):
    """A provider of the house's own, which answers like any other and lends its server to the passthrough."""

    @property
    def timeouts(self) -> Timeouts: ...

    def lend(self, model: str) -> AbstractAsyncContextManager[Upstream]:
        """Its server, started if need be, while the block lasts. Raises: ProviderFault."""
