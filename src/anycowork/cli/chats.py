"""`anycowork chats`: lists the chats of the server, newest first."""

import json
from collections.abc import Mapping

from anycowork.cli.options import Invocation
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient

_WAITING = {
    "plan": "plan waits",
    "approval": "approval waits",
    "question": "question waits",
    "continue": "can continue",
}
NO_CHATS = 'No chats yet. `anycowork run "…"` or `anycowork chat` starts one.'


def list_chats(invocation: Invocation, *, limit: int, archived: bool, as_json: bool) -> int:
    """Prints a line for each chat: its id, when it changed last, what it waits for, its title and its folder."""

    async def work(client: ServerClient) -> int:
        found = await client.get(f"/context?limit={limit}&archived={str(archived).lower()}")
        if as_json:
            stdout().json(json.dumps(found, ensure_ascii=False))
            return 0
        listed = found.get("contexts")
        chats = [chat for chat in listed if isinstance(chat, dict)] if isinstance(listed, list) else []
        for chat in chats:
            stdout().line(strip_controls(_line(chat)))
        if not chats:
            stderr().line("No archived chats." if archived else NO_CHATS)
        elif found.get("next"):
            stderr().line(f"There are more; --limit shows more than {limit}, `anycowork search` finds words in all.")
        return 0

    return run_with_server("chats", invocation, work)


def _line(chat: Mapping[str, object]) -> str:
    changed = str(chat["updated_at"])[:16].replace("T", " ")
    state = _WAITING.get(str(chat.get("waiting")), str(chat["state"]))
    return f"{chat['id']}  {changed}  {state:<14}  {chat['title'] or 'New chat'}  ({chat['workspace']})"
