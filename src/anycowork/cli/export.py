"""`anycowork export`: writes a chat to a file or to stdout, as it comes."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from anycowork.cli.options import Invocation
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr
from anycowork.client.http import ServerClient


def export(invocation: Invocation, chat_id: str, *, wanted: str, output: Path | None) -> int:
    """Returns 0, 1 if it could not be written, 2 if there is no such chat. A file is there whole or not at all."""

    async def work(client: ServerClient) -> int:
        pieces = client.download(f"/context/{quote(chat_id, safe='')}/export?format={wanted}")
        return await _write(pieces, output)

    return run_with_server("export", invocation, work, usage_statuses=(404,))


async def _write(pieces: AsyncIterator[bytes], output: Path | None) -> int:
    try:
        with _opened(output) as file:
            async for piece in pieces:
                file.write(piece)
            file.flush()
    except OSError as error:
        stderr().line(f"anycowork export: '{output or 'stdout'}' cannot be written ({error.strerror}).")
        return 1
    return 0


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    """A file gets its name when all of it is written; a device or a pipe is written to as it is."""
    if output is None:
        yield sys.stdout.buffer
    elif output.exists() and not output.is_file():
        with output.open("wb") as file:
            yield file
    else:
        target = output.resolve()  # a link stays one
        beside = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
        try:
            with beside.open("xb") as file:
                yield file
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o7777)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
