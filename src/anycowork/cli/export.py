"""`anycowork export`: writes a chat to a file or to stdout."""

import sys
from pathlib import Path
from urllib.parse import quote

from anycowork.cli.options import Invocation
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr
from anycowork.client.http import ServerClient


def export(invocation: Invocation, chat_id: str, *, wanted: str, output: Path | None) -> int:
    """Returns 0, 1 if it could not be written, 2 if there is no such chat."""

    async def work(client: ServerClient) -> int:
        content = await client.get_bytes(f"/context/{quote(chat_id, safe='')}/export?format={wanted}")
        return _write(content, output)

    return run_with_server("export", invocation, work, usage_statuses=(404,))


def _write(content: bytes, output: Path | None) -> int:
    try:
        if output is None:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            output.write_bytes(content)
    except OSError as error:
        stderr().line(f"anycowork export: '{output or 'stdout'}' cannot be written ({error.strerror}).")
        return 1
    return 0
