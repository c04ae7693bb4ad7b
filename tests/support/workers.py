"""Workers in tests: one in this process beside a live server, each with a scripted model of its own, so that a test sees who worked."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp

from anycowork.app import RunningServer, start_services
from anycowork.config.settings import ProviderEntry, Settings
from anycowork.server.remote_worker import RemoteWorker
from anycowork.server.setup.sandbox_setup import set_up_sandbox
from anycowork.server.worker_connection import WorkerConnection
from support.cli_process import CommandLine
from support.forked_command import ForkedCommand
from support.live_server import TOKEN, Caller
from support.scripted_model import Script, ScriptedModel


class LiveWorker:
    def __init__(self, services: RunningServer, model: ScriptedModel) -> None:
        self.services = services
        self.model = model


@asynccontextmanager
async def live_worker(
    folder: Path, database_url: str, *, replies: Iterable[Script] = (), jobs: int = 4, **settings: Any
) -> AsyncIterator[LiveWorker]:
    """`folder` holds its data folder. It has joined when this yields."""
    folder.mkdir(exist_ok=True)
    async with ScriptedModel(replies) as model:
        given = Settings(
            data_dir=folder / "data",
            database_url=database_url,
            model="scripted/scripted",
            providers=(ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",)),),
            probe_local_servers=False,
            **settings,
        )
        given.data_dir.mkdir(mode=0o700, exist_ok=True)
        async with start_services(given, token=TOKEN, worker_jobs=jobs) as services:
            assert services.job_engine is not None
            async with asyncio.timeout(120):
                await services.job_engine.started.wait()
            yield LiveWorker(services, model)


@contextmanager
def worker_process(
    folder: Path, database_url: str, model_url: str, *, inside: tuple[str, ...] = (), jobs: int = 1
) -> Iterator["subprocess.Popen[bytes] | subprocess.Popen[str]"]:
    """`anycowork worker` as people start it. `inside` is a command that runs it on another machine. What it prints is in `folder`/log.
    The model of a live server's chats is its own."""
    folder.mkdir()
    command_line = CommandLine(folder, model_url)
    command_line.data.mkdir(mode=0o700)
    provider = f'[[providers]]\nname = "scripted"\nbase_url = "{model_url}"\nmodels = ["scripted"]\n'
    (command_line.data / "config.toml").write_text(provider)
    environment = command_line.environ(ANYCOWORK_DATABASE_URL=database_url)
    words = ["worker", "--jobs", str(jobs)]
    process: subprocess.Popen[bytes] | subprocess.Popen[str]
    with (folder / "log").open("wb") as log:
        if inside:
            command = [*inside, sys.executable, "-m", "anycowork.cli.main", *words]
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        else:
            process = ForkedCommand(words, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


def until_printed(log: Path, words: str, *, seconds: float = 60.0) -> str:
    """What a worker has printed, once these words are in it."""
    deadline = time.monotonic() + seconds
    while words not in (printed := log.read_text("utf-8", "replace")):
        assert time.monotonic() < deadline, printed
        time.sleep(0.05)
    return printed


async def workers_of(server: Caller) -> list[dict[str, Any]]:
    return list((await server.ask("GET", "/workers"))["workers"])


async def until_workers(
    server: Caller, condition: Callable[[list[dict[str, Any]]], bool], *, seconds: float = 180.0
) -> list[dict[str, Any]]:
    """The workers once they are as wanted."""
    async with asyncio.timeout(seconds):
        while not condition(found := await workers_of(server)):
            await asyncio.sleep(0.1)
    return found


@asynccontextmanager
async def joined_worker(
    folder: Path, server: Caller, *, labels: tuple[str, ...] = (), runs: int = 2, url: str | None = None
) -> AsyncIterator[str]:
    """A worker that joined over HTTP, at `url` if not directly, with a folder of its own. Yields its id."""
    folder.mkdir(exist_ok=True)
    invite = await server.ask("POST", "/workers/invites", {}, expect=201)
    setup = await asyncio.to_thread(set_up_sandbox, folder)
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
        worker = RemoteWorker(
            WorkerConnection(url or server.url, session), setup.sandbox, folder, report=lambda line: None
        )
        worker_id = await worker.join(invite["token"], labels)
        working = tasks.create_task(_until_removed(worker, runs))
        try:
            yield worker_id
        finally:
            working.cancel()


async def _until_removed(worker: RemoteWorker, runs: int) -> None:
    with suppress(BaseExceptionGroup):  # the server has removed it
        await worker.work(runs)


class Relay:
    """A line between a worker and its server that can be cut: then nothing passes any more, and nobody is told."""

    def __init__(self, server: Caller) -> None:
        self.leads_to(server)
        self._open: set[asyncio.StreamWriter] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self.url = ""
        self.carried = 0  # bytes
        self.delay = 0.0  # seconds each way
        self.bytes_per_second = 0  # each way of each connection; 0 for as fast as it goes
        self.breaks: list[int] = []
        """After so many bytes the connection breaks that carries the next one, once each."""

        self.answer = b""
        """What a proxy says while its server is away, if anything."""

    def leads_to(self, server: Caller) -> None:
        self._port = int(server.url.rpartition(":")[2])

    def cut(self) -> None:
        self._passes.clear()

    def connect(self) -> None:
        """What was sent meanwhile is lost: old connections end."""
        self.break_all()
        self._passes.set()

    def break_all(self) -> None:
        for writer in [*self._open]:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.answer:
            with suppress(OSError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(self.answer)
                await writer.drain()
            writer.close()
            return
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.close()
            return
        with suppress(OSError):
            ends = {writer, server_writer}
            self._open |= ends
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._pump(reader, server_writer))
                    tasks.create_task(self._pump(server_reader, writer))
            finally:
                self._open -= ends
                for end in ends:
                    end.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while piece := await reader.read(4096 if self.bytes_per_second else 65536):
                await self._passes.wait()
                self.carried += len(piece)
                if self.breaks and self.carried > self.breaks[0]:
                    self.breaks.pop(0)
                    writer.transport.abort()
                    return
                if self.bytes_per_second:
                    await asyncio.sleep(len(piece) / self.bytes_per_second)
                if self.delay:
                    loop.call_later(self.delay, writer.write, piece)
                else:
                    writer.write(piece)
                await writer.drain()
        loop.call_later(self.delay, writer.close)


@asynccontextmanager
async def relay(server: Caller, at: socket.socket | None = None) -> AsyncIterator[Relay]:
    """`at` is where it listens, if not on this machine."""
    line = Relay(server)
    where = at or socket.create_server(("127.0.0.1", 0))
    listener = await asyncio.start_server(line.carry, sock=where)
    line.url = "http://{}:{}".format(*where.getsockname())
    try:
        yield line
    finally:
        line.connect()
        listener.close()


@contextmanager
def joined_process(
    folder: Path,
    url: str,
    token: str,
    *,
    hidden: Path,
    disk: str | None = None,
    jobs: int = 3,
    labels: str = "",
    inside: tuple[str, ...] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator["subprocess.Popen[bytes]"]:
    """`anycowork worker --join` as people start it. Where it can, it does not even see the folder `hidden`, which is the server's. `disk` is the
    size of its own one, such as 2m. `inside` is a command that runs it on another machine."""
    (folder / "cache").mkdir(parents=True)
    words = [
        "worker",
        "--join",
        url,
        "--cache",
        str(folder / "cache"),
        "--jobs",
        str(jobs),
        *(["--labels", labels] if labels else []),
        *(["--insecure"] if inside else []),
    ]
    command = [sys.executable, "-m", "anycowork.cli.main", *words]
    apart = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden)]
    probe = [*apart[:5], str(hidden), "true"]
    if disk is not None:
        apart[4] = f"mount -t tmpfs -o size={disk} none '{folder}/cache' && {apart[4]}"
    if os.geteuid() == 0 and subprocess.run(probe, capture_output=True, timeout=60).returncode == 0:
        command = [*apart, *command]
    command = [*inside, *command]
    environment = CommandLine(folder).environ(ANYCOWORK_JOIN_TOKEN=token, HOME=str(folder), **variables)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)
