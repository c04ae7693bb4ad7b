"""What the commands of the terminal chat do: each asks the server, shows a list where there is a choice, and tells the person the outcome."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from anycowork.client.console import shortened, strip_controls
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json, json_object
from anycowork.domain.times import local_time
from anycowork.domain.visibility import EVERYONE, PRIVATE, described
from anycowork.tui.cards import call_line, diff_lines
from anycowork.tui.completion import SlashCommand, command_help
from anycowork.tui.dialogs import FilteredMenuScreen, MenuChoice, MenuScreen, TextInputScreen, autonomy_choices

if TYPE_CHECKING:
    from anycowork.tui.screen import ChatScreen

SNIPPET_WIDTH = 160
_WHOLE_TURN = "turn:"  # before the id of the snapshot that a turn began with


class ChatCommands:
    def __init__(self, host: "ChatScreen") -> None:
        self._host = host
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "chats": self._open_listed,
            "new": self._open_new,
            "search": self._search,
            "model": self._choose_model,
            "role": self._choose_role,
            "autonomy": self._choose_autonomy,
            "visibility": self._choose_visibility,
            "restore": self._restore,
            "dismiss": self._dismiss,
            "remember": self._remember,
            "compact": self._compact,
            "help": self._help,
        }

    async def run(self, command: SlashCommand) -> None:
        """Runs it to its end; a refusal of the server is shown, not raised."""
        try:
            await self._commands[command.name](command.text)
        except AnyCoworkError as error:
            self._host.show_status(error.message, error=True)

    # --- chats

    async def _open_listed(self, _text: str) -> None:
        client = self._host.client
        chats, complete = await client.chats()
        choices = [MenuChoice(str(chat["id"]), str(chat.get("title")), _chat_details(chat)) for chat in chats]
        title = "Which chat?" if complete else f"Which chat? The newest {len(chats)}; /search finds older ones."
        chat_id = await self._host.ask(FilteredMenuScreen(title, choices, current=client.chat_id))
        await self._open(chat_id)

    async def _open_new(self, _text: str) -> None:
        self._host.open_chat(await self._host.client.open_new())

    async def _search(self, text: str) -> None:
        query = text or await self._host.ask(TextInputScreen("Search all chats for", keys="Enter search   Esc back"))
        if not query:
            return
        results = await self._host.client.search(query)
        if not results:
            self._host.show_status(f"No chat contains all of these words: {query}")
            return
        choices = [
            MenuChoice(str(index), str(result.get("title")), _found(result)) for index, result in enumerate(results)
        ]
        chosen = await self._host.ask(FilteredMenuScreen(f"Found: {query}", choices))
        await self._open(None if chosen is None else str(results[int(chosen)]["context_id"]))

    async def _open(self, chat_id: str | None) -> None:
        if chat_id is not None and chat_id != self._host.client.chat_id:
            self._host.open_chat(await self._host.client.open_other(chat_id))

    # --- this chat

    async def _choose_model(self, text: str) -> None:
        model = text
        if not model:
            models = await self._host.client.models()
            choices = [MenuChoice(str(index), name) for index, name in enumerate(models)]
            chosen = await self._host.ask(MenuScreen("Which model?", choices))
            if chosen is None:
                return
            model = models[int(chosen)]
        await self._host.client.choose_model(model)
        self._host.note(f"The model is {model} from the next message on.")

    async def _choose_role(self, text: str) -> None:
        if text:
            await self._host.client.switch(text, confirm=False)
            return
        roles = await self._host.client.roles()
        choices = [MenuChoice(str(role["name"]), str(role["name"]), str(role.get("tooltip"))) for role in roles]
        chosen = await self._host.ask(MenuScreen("Which role?", choices, current=self._host.status.role))
        if chosen is None or chosen == self._host.status.role:
            return
        if self._host.status.state != "idle":
            sure = [MenuChoice("yes", "Stop the turn and switch"), MenuChoice("no", "Let it continue")]
            if await self._host.ask(MenuScreen("A turn is running.", sure)) != "yes":
                return
        await self._host.client.switch(chosen, confirm=True)

    async def _choose_autonomy(self, _text: str) -> None:
        choices = autonomy_choices(await self._host.client.sandbox_level())
        current = self._host.status.autonomy
        chosen = await self._host.ask(MenuScreen("How much may happen without asking?", choices, current=current))
        if chosen is not None and chosen != current:
            await self._host.client.choose_autonomy(chosen)

    async def _choose_visibility(self, text: str) -> None:
        client = self._host.client
        visibility = text or await self._host.ask(await self._visibility_menu())
        if visibility:
            self._host.note(f"Who can see it: {described(await client.choose_visibility(visibility))}")

    async def _visibility_menu(self) -> MenuScreen:
        client = self._host.client
        current = str((await client.refresh())["visibility"])
        choices = [PRIVATE, *(f"group:{group}" for group in await client.groups()), current, EVERYONE]
        menu = [MenuChoice(choice, described(choice)) for choice in dict.fromkeys(choices)]
        return MenuScreen("Who can see this chat? Its folder's files are not hidden by this.", menu, current=current)

    async def _restore(self, _text: str) -> None:
        client = self._host.client
        changes = await client.changes()
        if not changes:
            self._host.show_status("Nothing was changed in this chat, so there is nothing to restore.")
            return
        messages, _ = await client.messages()
        choice = await self._host.ask(MenuScreen("Restore the files as of", _restore_choices(changes, messages)))
        if choice is None:
            return
        snapshot_id = choice.removeprefix(_WHOLE_TURN)
        preview = await client.restore(snapshot_id, dry_run=True)
        sure = [MenuChoice("yes", "Restore"), MenuChoice("no", "Leave everything as it is")]
        if await self._host.ask(MenuScreen(_preview_text(preview), sure)) == "yes":
            await client.restore(snapshot_id, dry_run=False)
            self._host.note("You can undo this, too: Ctrl+G.")

    async def _dismiss(self, _text: str) -> None:
        await self._host.client.dismiss()

    async def _remember(self, text: str) -> None:
        note = text or await self._host.ask(TextInputScreen("What should be remembered?", keys="Enter next   Esc back"))
        if not note:
            return
        change = await self._host.client.memory_change(note)
        if not change.get("diff"):
            self._host.note(f"{change.get('path')} holds this note already.")
            return
        lines = diff_lines(str(change.get("diff")), complete=True)
        title = Text("\n").join([Text(f"Remember this in {change.get('path')}?"), Text(), *lines])
        choices = [MenuChoice("yes", "Save"), MenuChoice("no", "Leave the file as it is")]
        if await self._host.ask(MenuScreen(title, choices, current="no")) == "yes":
            sha256 = change.get("sha256")
            await self._host.client.remember(note, sha256 if isinstance(sha256, str) else None)
            self._host.note(f"Saved in {change.get('path')}. You can undo this: Ctrl+G.")

    async def _compact(self, _text: str) -> None:
        await self._host.client.compact()

    async def _help(self, _text: str) -> None:
        self._host.note(command_help(await self._host.client.workflows()))


def _chat_details(chat: Json) -> str:
    waiting = "waits for you  " if chat.get("waiting") else ""
    visibility = str(chat.get("visibility"))
    seen_by = "" if visibility == EVERYONE else f"{described(visibility)}  "
    return f"{waiting}{seen_by}{local_time(str(chat.get('updated_at')))}  {chat.get('workspace')}"


def _found(result: Json) -> str:
    date = local_time(str(result.get("created_at")))
    return f"{date}\n  {result.get('role')}: {shortened(str(result.get('snippet')), SNIPPET_WIDTH)}"


def _restore_choices(changes: Sequence[Json], messages: Sequence[Json]) -> list[MenuChoice]:
    """Returns each change by its call, newest first, and before those of a turn that made several a choice for all of them."""
    calls = [json_object(message.get("payload")) for message in messages if message.get("message_type") == "tool_call"]
    call_lines = {call.get("id"): call_line(call).plain.removeprefix("→ ") for call in calls}
    choices: list[MenuChoice] = []
    for turn, group in groupby(changes, lambda change: change.get("turn_id")):
        of_turn = list(group)
        if turn is not None and len(of_turn) > 1:
            first = str(of_turn[-1]["id"])
            choices.append(MenuChoice(_WHOLE_TURN + first, f"before all {len(of_turn)} changes of the turn"))
        for change in of_turn:
            time = local_time(str(change.get("created_at")), seconds=True)
            files = "1 file" if change.get("files") == 1 else f"{change.get('files')} files"
            call = call_lines.get(change.get("tool_call_id"))
            label, details = (f"before {call}", f"{files}, {time}") if call else (f"before {time}", files)
            choices.append(MenuChoice(str(change["id"]), label, details))
    return choices


def _preview_text(preview: Json) -> str:
    """What a restore would do, file by file."""
    parts = []
    counts = preview.get("counts")
    for name, verb in (
        ("restored", "to be restored"),
        ("deleted", "to be removed"),
        ("unkept", "left as they are (git ignores them; older content was not kept)"),
        ("conflicts", "in conflict"),
    ):
        paths = preview.get(name)
        if isinstance(paths, list) and paths:
            count = counts.get(name, len(paths)) if isinstance(counts, dict) else len(paths)
            parts.append(f"{count} {'file' if count == 1 else 'files'} {verb}: {_first_paths(paths)}.")
    return " ".join(parts) or "Nothing would change."


def _first_paths(paths: Sequence[object]) -> str:
    first_paths = ", ".join(strip_controls(str(path)) for path in paths[:5])
    return f"{first_paths}{' …' if len(paths) > 5 else ''}"
