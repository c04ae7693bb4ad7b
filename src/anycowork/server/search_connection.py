"""Connects the search engine of `search_web`: a person names it, and its key is stored with the keys of model servers."""

import asyncio
import os
from collections.abc import Sequence

from pydantic import SecretStr

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.sandbox.network.egress import Egress
from anycowork.server.live_settings import LiveSettings
from anycowork.server.secrets.provider_keys import ProviderKeys
from anycowork.tools.toolbox import ToolRegistry
from anycowork.tools.web.search_engines import EngineKind, SearchEngine, engine_address
from anycowork.tools.web.search_web import SearchWeb

_KEY_NAME = "search:"  # no model server's name holds a colon


class SearchConnection:
    """Offers `search_web` to models while an engine is configured. A source of tools."""

    source_name = "web search"

    def __init__(self, live_settings: LiveSettings, keys: ProviderKeys, toolbox: ToolRegistry, egress: Egress) -> None:
        self._live_settings = live_settings
        self._keys = keys
        self._toolbox = toolbox
        self._tool = SearchWeb(self.engine, egress)
        self._alone = asyncio.Lock()
        toolbox.refresh(self)
        live_settings.pass_on("search_engine", lambda: toolbox.refresh(self))

    def tools(self) -> Sequence[SearchWeb]:
        return [] if self._live_settings.search_engine() is None else [self._tool]

    def engine(self) -> SearchEngine | None:
        entry = self._live_settings.search_engine()
        if entry is None:
            return None
        kind = EngineKind(entry.kind)
        address = engine_address(kind, entry.base_url)
        stored_key = self._keys.find(f"{_KEY_NAME}{kind.value}", str(address))
        return SearchEngine(kind, address, stored_key or os.environ.get(entry.api_key_env or "") or None)

    def shown(self) -> Json:
        """Returns the engine without its key."""
        engine = self.engine()
        if engine is None:
            return {"kind": None, "base_url": None, "key_set": False}
        return {"kind": engine.kind.value, "base_url": str(engine.address), "key_set": engine.key is not None}

    async def connect(self, kind: EngineKind, base_url: str | None, key: SecretStr | None) -> Json:
        """Names the engine; a key that was pasted for another host is not sent to this one. Raises: Invalid, StorageFault."""
        try:
            address = engine_address(kind, base_url)
        except ValueError as error:
            raise Invalid(f"The search engine cannot be used: {error}.", param="base_url") from None
        async with self._alone:
            if key is not None:
                await asyncio.to_thread(self._keys.put, f"{_KEY_NAME}{kind.value}", key, str(address))
            address_entry: Json = {} if base_url is None else {"base_url": base_url}
            await self._live_settings.change({"search_engine": {"kind": kind.value, **address_entry}})
        return self.shown()

    async def remove(self) -> None:
        """Forgets the engine and every key that was pasted for one. Raises: StorageFault."""
        async with self._alone:
            await self._live_settings.change({"search_engine": None})
            for kind in EngineKind:
                await asyncio.to_thread(self._keys.remove, f"{_KEY_NAME}{kind.value}")
