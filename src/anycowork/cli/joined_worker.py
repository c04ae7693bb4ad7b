"""`anycowork worker --join`: joins a server over HTTP and runs commands of its tasks, until it is told to stop."""

import asyncio
import fcntl
import ipaddress
import os
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any  # what is in a file
from urllib.parse import urlsplit

import aiohttp
import msgspec

from anycowork import __version__
from anycowork.cli.workers import split_labels
from anycowork.client.connect import first_error
from anycowork.client.console import stdout
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Invalid
from anycowork.server.remote_worker import RemoteWorker
from anycowork.server.setup.sandbox_setup import set_up_sandbox
from anycowork.server.worker_connection import NotJoined, WorkerConnection

DEFAULT_CACHE = "~/.cache/anycowork-worker"
CREDENTIAL = "credential.json"
_LABEL = re.compile(r"^[a-z0-9][a-z0-9._-]{0,40}$")


def run_joined_worker(
    url: str, token: str | None, labels: str | None, *, cache: Path | None, insecure: bool, runs: int
) -> int:
    """Returns after a clean end. Raises: Invalid before a connection is made; NotJoined."""
    require_safe_url(url, insecure=insecure)
    offered = split_labels(labels)
    if wrong := [label for label in offered if not _LABEL.match(label)]:
        raise Invalid(f"'{wrong[0][:60]}' is no label. Use small letters, digits, '.', '_' and '-'.", param="labels")
    folder = (cache or Path(DEFAULT_CACHE)).expanduser().absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = stored_secret(folder, url)
    if not token and secret is None:
        raise Invalid("--join needs --token: make one with 'anycowork workers invite' on the server.", param="token")
    try:
        with _alone_in(folder):
            asyncio.run(_work_until_signal(url, [secret, token], offered, folder, runs))
    except BaseExceptionGroup as group:
        raise first_error(group) from None
    except aiohttp.ClientError as error:
        raise NotJoined(f"The server at {url} cannot be reached ({error}).") from None
    except asyncio.CancelledError:
        pass
    return 0


def require_safe_url(url: str, *, insecure: bool) -> None:
    """Raises: Invalid for plain HTTP to another machine: others on the way would read the workspace and the worker's secret."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Invalid(
            f"'{url[:200]}' is no address of a server. Write https://HOST or http://127.0.0.1:PORT.", param="join"
        )
    if parts.scheme == "http" and not _is_loopback(parts.hostname) and not insecure:
        raise Invalid(
            f"{parts.hostname} is another machine, and plain HTTP shows everyone on the way what is sent. Use https, or a tunnel to"
            " 127.0.0.1; --insecure allows it on purpose.",
            param="join",
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def stored_secret(folder: Path, url: str) -> str | None:
    """Returns the secret with which this worker joined the server before."""
    try:
        credential: Any = read_json((folder / CREDENTIAL).read_bytes())
        return str(credential["secret"]) if credential["url"] == url.rstrip("/") else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store_secret(folder: Path, url: str, secret: str) -> None:
    """Nobody but this user can read it. `anycowork workers remove` makes it worthless."""
    unfinished = folder / f"{CREDENTIAL}.new"
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(msgspec.json.encode({"url": url.rstrip("/"), "secret": secret}))
    unfinished.rename(folder / CREDENTIAL)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Raises: Invalid if another worker uses the folder: both would tidy up what the other one works on."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Invalid(
                f"Another worker uses '{folder}'. Give each its own folder with --cache.", param="cache"
            ) from None
        yield


async def _join(worker: RemoteWorker, tokens: Sequence[str | None], labels: list[str]) -> str:
    """Joins with the first token that the server takes; a stored secret comes first. Raises: NotJoined."""
    *earlier, last = [token for token in tokens if token]
    for token in earlier:
        with suppress(NotJoined):
            return await worker.join(token, labels)
    return await worker.join(last, labels)


async def _work_until_signal(
    url: str, tokens: Sequence[str | None], labels: list[str], folder: Path, runs: int
) -> None:
    out, working = stdout(), asyncio.current_task()
    assert working is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    setup = await asyncio.to_thread(set_up_sandbox, folder)
    async with aiohttp.ClientSession(trust_env=False) as session:
        worker = RemoteWorker(WorkerConnection(url, session), setup.sandbox, folder, report=out.line)
        worker_id = await _join(worker, tokens, labels)
        await asyncio.to_thread(store_secret, folder, url, worker.secret)
        out.line(f"AnyCowork {__version__}: worker {worker_id} has joined {url}.")
        out.line(f"  Sandbox    {setup.summary}")
        out.line(f"  Cache      {folder}")
        out.line("Ctrl-C lets it leave; what runs on it is run again elsewhere.")
        await worker.work(runs)
