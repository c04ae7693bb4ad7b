"""Commands that a person types for themselves in a chat's workspace. No model can start one, and no role, rule or plan limits it."""

from collections.abc import Iterable
from enum import StrEnum

from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible_line

PERSON_COMMAND = "person_command"
"""In the payload of a system message: the person's own command, when it started or when it ended."""
_MOST_NOTED = 300  # characters of a command that a model is told


class CommandEnd(StrEnum):
    EXITED = "exited"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    TOO_MUCH_OUTPUT = "too_much_output"
    NOT_STARTED = "not_started"


@value
class CommandResult:
    """`exit_code` counts only for a command that exited. `output` is what it printed, as it came."""

    ended: CommandEnd
    exit_code: int | None
    output: str
    seconds: float


def command_note(message: Message) -> str | None:
    """Returns what a model is told of a command that a person ran: its words and how it ended, never what it printed."""
    payload = ended_command(message)
    if payload is None:
        return None
    command = visible_line(UntrustedText(str(payload.get("command") or "")))
    text = command if len(command) <= _MOST_NOTED else f"{command[:_MOST_NOTED]}…"
    return f"[The person ran a command of their own in the workspace, which asks nothing of you: {text} ({_how(payload)}). Files may have changed.]"


def ended_command(message: Message) -> Json | None:
    """Returns the payload of a person's command that has ended; None for any other message."""
    if message.role is not Speaker.SYSTEM or message.payload is None:
        return None
    command = message.payload.get(PERSON_COMMAND)
    return command if isinstance(command, dict) and "ended" in command else None


def has_unended_command(messages: Iterable[Message]) -> bool:
    """Whether a person's command was started and its end is not recorded: it runs, or its server died."""
    ends: dict[str, bool] = {}
    for message in messages:
        command = (message.payload or {}).get(PERSON_COMMAND)
        if message.role is Speaker.SYSTEM and isinstance(command, dict):
            ends[str(command.get("id"))] = "ended" in command
    return not all(ends.values())


def _how(command: Json) -> str:
    return (
        f"exit code {command.get('exit_code')}"
        if command.get("ended") == CommandEnd.EXITED
        else f"{command.get('ended')}"
    )
