"""`anycowork chats`: lists the chats of the server, newest first, and says and changes who sees one. And `search` and `export`."""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO
from urllib.parse import quote, urlencode

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.help_texts import CHATS_HELP
from anycowork.cli.options import AsJson, DataDir, Invocation, Who, invoked
from anycowork.cli.server_command import print_answer, print_visibility, run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.config.secure_files import OWNER_ONLY_FILE
from anycowork.domain.messages import json_objects
from anycowork.domain.times import local_time
from anycowork.domain.visibility import EVERYONE, described

app = CommandGroup(help=CHATS_HELP, short_help="List the chats, newest first.", invoke_without_command=True)
_WAITING = {
    "plan": "plan waits",
    "approval": "approval waits",
    "question": "question waits",
    "continue": "can continue",
}
NO_CHATS = 'No chats yet. `anycowork run "…"` or `anycowork chat` starts one.'


@app.callback()
def list_chats(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many chats.", metavar="N")] = 20,
    archived: Annotated[bool, typer.Option("--archived", help="The archived ones instead.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    if context.invoked_subcommand is not None:
        return

    async def work(client: ServerClient) -> None:
        page = await client.get(f"/context?limit={limit}&archived={str(archived).lower()}")
        chats = json_objects(page.get("contexts"))
        print_answer(page, map(_line, chats), as_json=as_json)
        if as_json:
            return
        if not chats:
            stderr().line("No archived chats." if archived else NO_CHATS)
        elif page.get("next"):
            stderr().line(f"There are more; --limit shows more than {limit}, `anycowork search` finds words in all.")

    raise run_with_server("chats", invoked(context, data_dir=data_dir), work)


@app.command("visibility", help="Say who can see a chat, or change it. Only its owner may change it.")
def chat_visibility(
    context: typer.Context,
    chat_id: Annotated[str, typer.Argument(help="The chat's id; `anycowork chats` lists them.", metavar="CHAT_ID")],
    who: Who = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    async def work(client: ServerClient) -> None:
        path = f"/context/{quote(chat_id, safe='')}"
        chat = await client.get(path) if who is None else await client.patch(path, {"visibility": who})
        print_visibility(chat, as_json=as_json)

    raise run_with_server("chats visibility", invoked(context, data_dir=data_dir), work)


def _line(chat: Mapping[str, object]) -> str:
    changed = local_time(str(chat["updated_at"]))
    state = _WAITING.get(str(chat.get("waiting")), str(chat["state"]))
    visibility = str(chat["visibility"])
    seen_by = "" if visibility == EVERYONE else f"  [{described(visibility)}]"
    return f"{chat['id']}  {changed}  {state:<14}  {chat['title'] or 'New chat'}  ({chat['workspace']}){seen_by}"


def search(invocation: Invocation, query: str, *, limit: int, as_json: bool) -> typer.Exit:
    """Prints what was found; exits with 0 if there is something, 1 if not, 2 for wrong arguments."""

    async def work(client: ServerClient) -> int:
        answer = await client.get(f"/search?{urlencode({'q': query[:500], 'limit': limit})}")
        results = json_objects(answer.get("results"))
        if as_json:
            stdout().json(json.dumps(answer, ensure_ascii=False))
        for result in () if as_json else results:
            _print(result)
        if not results and not as_json:
            stderr().line("Nothing found.")
        return 0 if results else 1

    return run_with_server("search", invocation, work)


def _print(result: Mapping[str, object]) -> None:
    out, parts = stdout(), result.get("parts")
    timestamp = local_time(str(result["created_at"]))
    out.line(strip_controls(f"{result['context_id']}  {timestamp}  {result['title']}"))
    snippet = "".join(
        out.paint(strip_controls(str(part["text"])), "bold") if part.get("match") else strip_controls(str(part["text"]))
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict)
    )
    out.line(f"    {result['role']}: {snippet}")


def export(invocation: Invocation, chat_id: str, *, export_format: str, output: Path | None) -> typer.Exit:
    """Exits with 0, 1 if it could not be written, 2 if there is no such chat. A file is there whole or not at all."""

    async def work(client: ServerClient) -> int:
        pieces = client.download(f"/context/{quote(chat_id, safe='')}/export?format={export_format}")
        return await _write(pieces, output)

    return run_with_server("export", invocation, work)


async def _write(pieces: AsyncIterator[bytes], output: Path | None) -> int:
    try:
        with opened_output(output) as file:
            async for piece in pieces:
                file.write(piece)
            file.flush()
    except OSError as error:
        stderr().line(f"anycowork export: '{output or 'stdout'}' cannot be written ({error.strerror}).")
        return 1
    return 0


@contextmanager
def opened_output(output: Path | None, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file gets its name when all of it is written; a device or a pipe is written to as it is. `private`: only its owner may read it."""
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
                if private:
                    beside.chmod(OWNER_ONLY_FILE)
                yield file
            if target.exists() and not private:
                beside.chmod(target.stat().st_mode & 0o7777)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
