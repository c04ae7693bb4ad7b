"""The commands of the terminal's input line, and what the line can complete. Pure; knows no screen.

`/` names a command, workflow or skill, `@` a file or a folder, as does each word after `!`.
"""

import shlex
from collections.abc import Iterable
from typing import Literal

from anycowork.client.chat_client import ChatClient
from anycowork.client.console import strip_controls
from anycowork.domain.messages import Json
from anycowork.domain.values import value

# In the command palette: title, help, name of the command.
SYSTEM_COMMANDS = (
    ("Chats", "Open another chat (F5)", "chats"),
    ("New chat", "Open a new chat in this folder", "new"),
    ("Search", "Search all chats", "search"),
    ("Model", "Choose the model of this chat", "model"),
    ("Switch role", "Another role for the next message (Ctrl+R)", "role"),
    ("Restore", "Restore an earlier state of the files (Ctrl+G)", "restore"),
    ("Dismiss", "Drop the plan or the stopped turn that waits for you", "dismiss"),
    ("Autonomy", "Choose how much asks in this chat (F4)", "autonomy"),
    ("Visibility", "Choose who can see this chat", "visibility"),
)
LONGEST_WORD = 200  # characters; the server takes no more
MOST_OPTIONS = 20
_ENDS_A_SENTENCE = (".", "-")  # the server does not count these to a path without quotes


@value
class CommandEntry:
    """`most_words` is how many words may follow the name: more of them are a message."""

    about: str
    most_words: int = 0


COMMANDS = {
    "chats": CommandEntry("list the chats and open another one"),
    "new": CommandEntry("open a new chat in this folder"),
    "search": CommandEntry("search all chats; /search WORDS finds these", most_words=500),
    "model": CommandEntry("choose the model of this chat; /model NAME takes that one", most_words=1),
    "role": CommandEntry("switch the role; /role NAME takes that one", most_words=1),
    "autonomy": CommandEntry("choose how much may happen without asking"),
    "visibility": CommandEntry(
        "choose who can see this chat; /visibility WHO takes private, everyone or group:NAME", most_words=1
    ),
    "restore": CommandEntry("restore an earlier state of the files"),
    "dismiss": CommandEntry("drop the plan or the stopped turn that waits for you; what was done stays"),
    "remember": CommandEntry("add a note to this folder's AGENTS.md, after you saw the change", most_words=400),
    "compact": CommandEntry("shorten what the model is shown of this chat"),
    "help": CommandEntry("show this list"),
}
_EARLIER_NAMES = {"undo": "restore"}
EXPECT_ABOUT = (
    "a line before or after a message that states what is checked: output, protected, check, read or no_change"
)
_OTHERS = (
    f"/expect: {EXPECT_ABOUT}, such as /expect output report.md (Alt+Enter begins a new line).",
    "!command runs a command of your own in this folder, with your rights: Tab completes a path, Ctrl+C stops it.",
    "/ and @ show a list while you type: ↑ ↓ move, Tab or Enter completes, Esc closes it.",
    "@path reads a file, @folder/ lists a folder, @symbol:name finds where a name is defined.",
    "Ctrl+R role, Ctrl+G restore, F2 what waits for you, F3 continue, F4 autonomy, F5 chats, Esc stop, Ctrl+Q leave.",
)


@value
class SlashCommand:
    """`text` is what stands after the name."""

    name: str
    text: str = ""


def command_in(text_typed: str) -> SlashCommand | None:
    """Returns the command that these words are; None if they are a message or a workflow."""
    typed_name, _, text = text_typed.strip().removeprefix("/").partition(" ")
    name = _EARLIER_NAMES.get(typed_name, typed_name)
    if not text_typed.startswith("/") or name not in COMMANDS or len(text.split()) > COMMANDS[name].most_words:
        return None
    return SlashCommand(name, text.strip())


def own_command_in(typed: str) -> str | None:
    """Returns what stands after a leading `!`: a command that the person runs; None for anything else."""
    return (typed[1:].strip() or None) if typed.startswith("!") else None


def command_help(workflows: Iterable[Json]) -> str:
    """Lists the commands, the workflows of the chat's folder, and the keys."""
    commands = [f"/{name}: {entry.about}" for name, entry in COMMANDS.items()]
    listed = [f"{strip_controls(str(workflow.get('usage')))}: {workflow.get('description')}" for workflow in workflows]
    return "\n".join([*commands, *(["", "Workflows", *listed] if listed else []), "", *_OTHERS])


@value
class CompletionTrigger:
    """The word before the cursor: `query` stands after its `/` or `@`, which is at `start`.

    A word of the person's own command has no such sign, and is completed only when Tab asks for it: Enter runs the command.
    """

    kind: Literal["command", "path", "shell_path"]
    query: str
    start: int

    @property
    def typed(self) -> str:
        return f"{_SIGNS[self.kind]}{self.query}"


_SIGNS = {"command": "/", "path": "@", "shell_path": ""}


@value
class CompletionOption:
    text: str
    about: str = ""


def trigger_in(before: str, after: str = "") -> CompletionTrigger | None:
    """Returns what is being typed between these two parts of the input; None if nothing there can be completed."""
    if before.startswith("/") and not after:
        name = before[1:]
        plain = "/" not in name and not any(letter.isspace() for letter in name)
        if plain and len(name) <= LONGEST_WORD:
            return CompletionTrigger("command", name, 0)
    if before.startswith("!"):
        word = "" if before[-1].isspace() else " ".join(before[1:].split()[-1:])
        return CompletionTrigger("shell_path", word, len(before) - len(word)) if len(word) <= LONGEST_WORD else None
    start = before.rfind("@")
    if start < 0 or not (start == 0 or before[start - 1].isspace() or before[start - 1] == "("):
        return None
    query = before[start + 1 :]
    if len(query) > LONGEST_WORD or query.startswith(("symbol:", "mcp:", "checkpoint:")):
        return None
    return (
        None if any(letter.isspace() or letter == '"' for letter in query) else CompletionTrigger("path", query, start)
    )


class CompletionSource:
    """Asks the server. Workflows and skills are read again whenever a new `/` is typed."""

    def __init__(self) -> None:
        self._chat_id = ""
        self._definitions: list[Json] = []

    async def options(self, client: ChatClient, trigger: CompletionTrigger) -> list[CompletionOption]:
        """Raises: ServerRefused, ServerUnreachable."""
        if trigger.kind != "command":
            files = await client.find_files(trigger.query, limit=MOST_OPTIONS)
            return path_options(files) if trigger.kind == "path" else shell_path_options(files)
        if not trigger.query or self._chat_id != client.chat_id:
            self._definitions = [*await client.skills(), *await client.workflows()]
            self._chat_id = client.chat_id
        return command_options(trigger.query, self._definitions)


def command_options(query: str, definitions: Iterable[Json]) -> list[CompletionOption]:
    """Names that begin with the query come before names that contain it."""
    about = {str(entry.get("name")): str(entry.get("description")) for entry in definitions}
    about |= {**{name: entry.about for name, entry in COMMANDS.items()}, "expect": EXPECT_ABOUT}
    query = query.casefold()
    ordered = [*COMMANDS, *(name for name in about if name not in COMMANDS)]
    matching = [name for name in ordered if query in name.casefold()]
    matching.sort(key=lambda name: not name.casefold().startswith(query))
    return [CompletionOption(f"/{name}", about[name]) for name in matching]


def path_options(files: Iterable[Json]) -> list[CompletionOption]:
    """A path that no message can name is left out."""
    options = []
    for file in files:
        path, display_path = str(file.get("path")), str(file.get("shown"))
        if '"' not in path and "\n" not in path:
            path = f"{path}/" if file.get("kind") == "folder" else path
            options.append(CompletionOption(_mention(path), "" if display_path == file.get("path") else display_path))
    return options


def shell_path_options(files: Iterable[Json]) -> list[CompletionOption]:
    """Returns each path as a shell reads it back."""
    return [
        CompletionOption(shlex.quote(f"{file.get('path')}{'/' if file.get('kind') == 'folder' else ''}"))
        for file in files
        if "\n" not in str(file.get("path"))
    ]


def _mention(path: str) -> str:
    """Writes the path as the server reads it: one with other characters stands in quotes."""
    plain = all(letter.isalnum() or letter in "_./-" for letter in path)
    plain = plain and path[:1] not in ("/", "-") and not path.endswith(_ENDS_A_SENTENCE)
    return f"@{path}" if plain else f'@"{path}"'
