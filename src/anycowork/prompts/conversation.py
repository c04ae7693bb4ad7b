"""Converts a chat's messages for the model, merged so that user and assistant alternate. Pure."""

from collections.abc import Sequence

from anycowork.domain.images import Image, images_of
from anycowork.domain.messages import (
    Json,
    Message,
    MessageType,
    Speaker,
    is_asked_by_call,
    is_checkpoint_note,
    is_continuation,
)
from anycowork.domain.model import ContentPart, PromptMessage
from anycowork.domain.person_commands import command_note
from anycowork.domain.secret_values import is_revealed
from anycowork.domain.visible_text import bare_lines
from anycowork.prompts.compaction import is_compaction

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"
SUMMARY = "[A summary stands here for what came before in this chat:]"
_FEW_LINES = 12
_FEW_CHARACTERS = 800
TURN_OVER = "[The turn ended here.]"
CONTINUED = (
    "[The person continued the turn. Go on where it stopped, with the same request. What succeeded above is done: do not do it again. "
    "What was interrupted is not: look, and do what is missing.]"
)


def prompt_message(message: Message) -> PromptMessage | None:
    """Converts one message for the model; None if it is only for people (errors, limits) or has no text."""
    if message.payload is None and message.message_type is MessageType.TEXT:  # nearly every message of a long chat
        return plain_prompt_message(message)
    match message.message_type:
        case MessageType.TOOL_CALL:
            return _one(ASSISTANT, message.content, call=message.payload)
        case MessageType.TOOL_RESULT:
            answers = _word(message.payload or {}, "tool_call_id")
            content = "\n".join([result_heading(message), message.content, *changed_lines(message)])
            return _one(USER, content, answers=answers)
        case MessageType.ROLE_CHANGE:
            return _one(USER, _role_change(message))
        case _:
            return _prompt_message(message)


class PromptConversation:
    """Merges adjacent messages of one side: an assistant's texts of one turn with a line break, all others with a blank line."""

    def __init__(self) -> None:
        self._turns: list[PromptMessage] = []
        self._merged: list[
            tuple[str, PromptMessage]
        ] = []  # what the last turn is merged from, each with the joint before it; empty if it is one message
        self._newest: Message | None = None
        self._starts: list[int] = []  # for each message the place of the turn that it begins, or -1
        self._removed = 0  # turns; places count them

    @property
    def turns(self) -> list[PromptMessage]:
        if self._merged:
            content = "".join(part for joint, merged in self._merged for part in (joint, merged.content))
            parts = tuple(part for _, merged in self._merged for part in merged.parts)
            self._turns[-1] = PromptMessage(self._turns[-1].role, content, parts)
            self._merged = []
        return self._turns

    def add(self, message: Message, converted: PromptMessage) -> None:
        """Appends the next message that has text."""
        before, self._newest = self._newest, message
        if before is None or self._turns[-1].role != converted.role:
            turns = self.turns if self._merged else self._turns
            self._starts.append(self._removed + len(turns))
            turns.append(converted)
        elif _is_result(before) and not _is_result(message):
            self.turns.extend(
                (_one(ASSISTANT, TURN_OVER), converted)
            )  # a person's text is never merged into a tool result
            self._starts.append(self._removed + len(self._turns) - 1)
        else:
            self._starts.append(-1)
            self._merged = self._merged or [("", self._turns[-1])]
            self._merged.append((_joint(before, message, converted.role), converted))

    def remove_first(self, count: int) -> bool:
        """Removes the oldest messages, as if they had never been added; returns False, and changes nothing, if the next one is merged
        with them, or none is left."""
        if count >= len(self._starts) or self._starts[count] < 0:
            return False
        start = self._starts[count]
        del self._turns[: start - self._removed], self._starts[:count]
        self._removed = start
        return True


def is_summary(message: Message) -> bool:
    """Whether the message replaces everything before it for the model."""
    return is_compaction(message) or (message.payload is not None and message.payload.get("summary") is True)


def results_before_summary(messages: Sequence[Message]) -> frozenset[str]:
    """Returns the ids of the calls whose results a summary replaced for the model."""
    last = 0
    for index, message in enumerate(messages):
        if message.payload is not None and is_summary(message):
            last = index
    call_ids = (_word(message.payload or {}, "tool_call_id") for message in messages[:last] if _is_result(message))
    return frozenset(call_id for call_id in call_ids if call_id)


def _is_result(message: Message) -> bool:
    return message.message_type is MessageType.TOOL_RESULT


def result_heading(message: Message) -> str:
    """Returns the first line of a tool's result, which marks it as data. A remark of the server is added here, outside the data."""
    payload = message.payload or {}
    facts = payload.get("facts")
    remark = _word(facts, "remark") if isinstance(facts, dict) else None
    heading = f"Result of {_word(payload, 'tool') or 'tool'} ({_word(payload, 'status') or 'ok'})"
    return f"{heading}. {remark}" if remark else f"{heading}:"


def changed_lines(message: Message) -> list[str]:
    """Returns the lines that a command changed, if they are few, so that the model notices mistakes. Each begins with its sign."""
    payload = message.payload or {}
    if payload.get("tool") != "execute_command" or (diff := _word(payload, "diff")) is None:
        return []
    lines = [line for line in bare_lines(diff) if line[:1] in ("+", "-") and not line.startswith(("+++", "---"))]
    few = 0 < len(lines) <= _FEW_LINES and sum(map(len, lines)) <= _FEW_CHARACTERS
    return lines if few else []


def result_of(message: Message) -> str:
    """Returns the name of the tool whose result this is."""
    return _word(message.payload or {}, "tool") or "tool"


def _role_change(message: Message) -> str:
    payload = message.payload or {}
    before, after = _word(payload, "old_role"), _word(payload, "new_role")
    if before and after:
        return f"[The person switched the role from {before} to {after}.]"
    return f"[{message.content.strip() or 'The person switched the role.'}]"


def _word(payload: Json, key: str) -> str | None:
    value = payload.get(key)
    return value if isinstance(value, str) and value else None


def _prompt_message(message: Message) -> PromptMessage | None:
    if is_continuation(message) and message.role is Speaker.SYSTEM:
        return _one(USER, CONTINUED)
    if (note := command_note(message)) is not None:
        return _one(USER, note)
    if is_revealed(message):
        return _one(USER, f"[{message.content}]")
    if is_compaction(message) or is_checkpoint_note(message):
        return _one(USER, message.content)
    if message.role is Speaker.SYSTEM or not message.content.strip() or is_asked_by_call(message):
        return None
    if is_summary(message):
        return _one(USER, f"{SUMMARY}\n\n{message.content}")
    content = _answer(message) or message.content
    return _one(ASSISTANT if message.role is Speaker.ASSISTANT else USER, content, images=images_of(message))


def plain_prompt_message(message: Message) -> PromptMessage | None:
    """As `prompt_message`, for text without a payload."""
    if message.role is Speaker.SYSTEM or not message.content.strip():
        return None
    role = ASSISTANT if message.role is Speaker.ASSISTANT else USER
    return PromptMessage(role, message.content, (ContentPart(message.content),))


def _answer(message: Message) -> str | None:
    """Returns the label and value of a chosen option; None if this does not answer a question."""
    payload = message.payload or {}
    value = _word(payload, "value")
    if value is None or _word(payload, "question_id") is None or value == message.content:
        return None
    return f"{message.content} ({value})"


def _one(
    role: str, text: str, *, call: Json | None = None, answers: str | None = None, images: tuple[Image, ...] = ()
) -> PromptMessage:
    return PromptMessage(role, text, (ContentPart(text, call, answers, images),))


def _joint(before: Message, message: Message, role: str) -> str:
    same_turn = before.turn_id == message.turn_id
    return "\n" if role == ASSISTANT and same_turn else "\n\n"
