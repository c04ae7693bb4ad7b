"""A real SMTP server that keeps what it was sent: plain, or with STARTTLS and a login."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message

from support.outbound import CERTIFICATE, KEY


@dataclass
class MailReceiver:
    """`mails` are what was delivered: who it was for, and whether over TLS. `commands` are all lines that it was sent."""

    port: int = 0
    starttls: bool = True
    refuses: bool = False
    mails: list[tuple[str, bool, Message]] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = _MailSession(self, reader, writer)
        try:
            await session.run()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class _MailSession:
    def __init__(self, server: MailReceiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self._encrypted, self._recipient = False, ""

    async def run(self) -> None:
        self._say("220 mail.example ESMTP")
        while line := (await self._reader.readline()).decode("latin-1").strip():
            self._server.commands.append(line)
            word = line.split(" ")[0].upper()
            if word == "QUIT":
                self._say("221 bye")
                return
            await self._answer(word, line)
            await self._writer.drain()

    async def _answer(self, word: str, line: str) -> None:
        match word:
            case "EHLO":
                offered = ["STARTTLS"] if self._server.starttls and not self._encrypted else ["AUTH PLAIN"]
                self._say("250-mail.example", f"250 {offered[0]}")
            case "STARTTLS":
                self._say("220 go on")
                context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(CERTIFICATE, KEY)
                await self._writer.start_tls(context)
                self._encrypted = True
            case "AUTH":
                self._server.logins.append(base64.b64decode(line.split(" ")[2]).decode())
                self._say("235 welcome")
            case "RCPT":
                self._recipient = line.partition("<")[2].partition(">")[0]
                self._say("550 nobody here" if self._server.refuses else "250 ok")
            case "DATA":
                self._say("354 go on")
                body = (await self._reader.readuntil(b"\r\n.\r\n"))[:-3]
                self._server.mails.append((self._recipient, self._encrypted, message_from_bytes(body)))
                self._say("250 taken")
            case _:
                self._say("250 ok")

    def _say(self, *lines: str) -> None:
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())


@asynccontextmanager
async def mail_server(server: MailReceiver | None = None) -> AsyncIterator[MailReceiver]:
    server = server or MailReceiver()
    listening = await asyncio.start_server(server.take, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
