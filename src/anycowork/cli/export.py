"""`anycowork export`: writes a chat to a file or to stdout."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stderr
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.config.loading import load_settings
from anycowork.config.settings import BadSettings
from anycowork.domain.errors import AnyCoworkError


def export(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    chat_id: str,
    *,
    cwd: Path,
    wanted: str,
    output: Path | None,
) -> int:
    """Returns 0, 1 if it could not be written, 2 if there is no such chat."""

    async def work(address: ServerAddress) -> bytes:
        async with ServerClient(address.url, address.token) as client:
            return await client.get_bytes(f"/context/{quote(chat_id, safe='')}/export?format={wanted}")

    try:
        content = asyncio.run(with_server(load_settings(flags, environ, cwd=cwd), work))
        if output is None:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            output.write_bytes(content)
    except AnyCoworkError as error:
        stderr().line(f"anycowork export: {error.message}")
        mistyped = isinstance(error, BadSettings) or (isinstance(error, ServerRefused) and error.status == 404)
        return 2 if mistyped else 1
    except OSError as error:
        stderr().line(f"anycowork export: '{output or 'stdout'}' cannot be written ({error.strerror}).")
        return 1
    return 0
