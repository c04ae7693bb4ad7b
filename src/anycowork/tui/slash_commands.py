"""Commands that a person types in the terminal's composer. Everything else that begins with a slash is a workflow. Pure."""

from anycowork.domain.values import value

COMMANDS = {
    "model": "choose the model of this chat; /model NAME takes that one",
    "role": "switch the role; /role NAME takes that one",
    "undo": "restore an earlier state of the files",
    "compact": "shorten what the model is shown of this chat",
    "help": "show this list",
}


@value
class SlashCommand:
    """`text` is what stands after the name."""

    name: str
    text: str = ""


def command_in(words: str) -> SlashCommand | None:
    """Return the command that these words are; None if they are a message or a workflow."""
    name, _, text = words.strip().removeprefix("/").partition(" ")
    if not words.startswith("/") or name not in COMMANDS or len(text.split()) > 1:
        return None
    return SlashCommand(name, text.strip())


def command_help() -> str:
    lines = [f"/{name}: {about}" for name, about in COMMANDS.items()]
    return "\n".join(
        [*lines, "@path reads a file, @folder/ lists a folder, @symbol:name finds where a name is defined."]
    )
