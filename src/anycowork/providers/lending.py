"""A model's server that is not there until somebody needs it: lent for as long as one request takes."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from anycowork.domain.asking import Provider
from anycowork.providers.completion_stream import Timeouts
from anycowork.providers.upstream import Upstream


class Lender(Provider, Protocol):
    """A provider of the house's own, which answers like any other and lends its server to the passthrough."""

    @property
    def timeouts(self) -> Timeouts: ...

    def lend(self, model: str) -> AbstractAsyncContextManager[Upstream]:
        """Its server, started if need be, while the block lasts. Raises: ProviderFault."""
