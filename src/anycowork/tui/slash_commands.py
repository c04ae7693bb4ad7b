"""Commands that a person types in the terminal's composer. Everything else that begins with a slash is a workflow. Pure."""

from collections.abc import Iterable

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
)


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
    """Return the command that these words are; None if they are a message or a workflow."""
    typed_name, _, text = text_typed.strip().removeprefix("/").partition(" ")
    name = _EARLIER_NAMES.get(typed_name, typed_name)
    if not text_typed.startswith("/") or name not in COMMANDS or len(text.split()) > COMMANDS[name].most_words:
        return None
    return SlashCommand(name, text.strip())


def own_command_in(typed: str) -> str | None:
    """Return what stands after a leading `!`: a command that the person runs; None for anything else."""
    return (typed[1:].strip() or None) if typed.startswith("!") else None


def command_help(workflows: Iterable[Json]) -> str:
    """Lists the commands, the workflows of the chat's folder, and the keys."""
    commands = [f"/{name}: {entry.about}" for name, entry in COMMANDS.items()]
    listed = [f"{strip_controls(str(workflow.get('usage')))}: {workflow.get('description')}" for workflow in workflows]
    return "\n".join([*commands, *(["", "Workflows", *listed] if listed else []), "", *_OTHERS])
