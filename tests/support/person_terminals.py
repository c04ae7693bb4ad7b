"""A person's terminal over HTTP, as the page uses it: what it prints is read until words stand in it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from support.live_server import TIMEOUT, Json, LiveChat


class OpenTerminal:
    def __init__(self, chat: LiveChat, terminal_id: str, stream: aiohttp.ClientResponse) -> None:
        self.chat = chat
        self.id = terminal_id
        self.stream = stream
        self.output = b""

    async def type(self, text: str, *, expect: int = 200) -> Json:
        path = f"{self.chat.path}/terminals/{self.id}/input"
        return await self.chat.client.ask("POST", path, {"text": text}, expect=expect)

    async def resize(self, rows: int, columns: int) -> None:
        path = f"{self.chat.path}/terminals/{self.id}/size"
        await self.chat.client.ask("PUT", path, {"rows": rows, "columns": columns})

    async def sees(self, *words: str) -> None:
        """Waits until it has printed all of them since the last time."""
        async with asyncio.timeout(TIMEOUT):
            while not all(word.encode() in self.output for word in words):
                piece = await self.stream.content.readany()
                assert piece, f"the terminal ended without {words}: {self.output!r}"
                self.output += piece
        self.output = b""

    async def ends(self) -> bytes:
        """What it prints until its stream ends."""
        async with asyncio.timeout(TIMEOUT):
            while piece := await self.stream.content.readany():
                self.output += piece
        return self.output


async def open_terminal(chat: LiveChat, *, expect: int = 201) -> str:
    answer = await chat.client.ask("POST", f"{chat.path}/terminals", {"rows": 24, "columns": 80}, expect=expect)
    return str(answer.get("id"))


@asynccontextmanager
async def read_terminal(chat: LiveChat, terminal_id: str) -> AsyncIterator[OpenTerminal]:
    address = f"{chat.client.url}{chat.path}/terminals/{terminal_id}/output"
    async with chat.client.session.get(address) as stream:
        assert stream.status == 200, await stream.text()
        yield OpenTerminal(chat, terminal_id, stream)
