"""Tells how much of a long chat must be read for the model. Pure.

What is read beyond the limit would be left out of the prompt in any case, because `history_budget.py` leaves out the oldest turns first.
"""

from anycowork.domain.messages import Message, MessageType, Speaker, is_asked_by_call
from anycowork.prompts.compaction import is_compaction
from anycowork.prompts.history_budget import SHORT_RESULT, call_id_of, is_from_the_person, measured
from anycowork.prompts.tokens import BYTES_PER_TOKEN, FRAME

_TEXT, _SYSTEM = MessageType.TEXT, Speaker.SYSTEM  # Python 3.11 takes long to look up a member of an enum


class HistoryLimit:
    """Takes the messages of a chat, without those of tasks, newest first. `since` is the message that began the running turn.

    Only messages before the turn count, each with the fewest tokens that it can take: these alone must exceed the budget.
    """

    def __init__(self, *, budget: int, since: str) -> None:
        self._tokens_left = budget
        self._since = since
        self._is_before = False
        self._newest_request: Message | None = None
        self._open_results: set[str] = set()

    def reached(self, message: Message) -> bool:
        """Whether no message older than this one can be shown. Never between a call and its result."""
        if message.payload is not None and (call_id := call_id_of(message)):
            is_result = message.message_type is MessageType.TOOL_RESULT
            (self._open_results.add if is_result else self._open_results.discard)(call_id)
        newest = self._newest_request
        if newest is None or not self._is_before:
            self._look_for_request(message)
        elif message.turn_id is None or message.turn_id != newest.turn_id:
            self._tokens_left -= fewest_tokens(message)
        return self._tokens_left < 0 and not self._open_results

    def _look_for_request(self, message: Message) -> None:
        if self._newest_request is None and is_from_the_person(message) and message.content.strip():
            self._newest_request = message
        self._is_before = self._is_before or message.id == self._since


def fewest_tokens(message: Message) -> int:
    """Return a lower bound of what the message takes if the model is shown it, truncated as far as possible; 0 if it may not be shown."""
    if message.payload is None and message.message_type is _TEXT:  # nearly every message of a long chat
        content = message.content
        unseen = message.role is _SYSTEM or not content or content.isspace()
        return 0 if unseen else len(content) // BYTES_PER_TOKEN + FRAME
    match message.message_type:
        case MessageType.TOOL_RESULT:
            return measured(message, ratio=1.0, result_cap=SHORT_RESULT).tokens
        case MessageType.TOOL_CALL:
            return len(message.content) // BYTES_PER_TOKEN + FRAME
        case MessageType.ROLE_CHANGE:
            return FRAME
        case _:
            unseen = message.role is Speaker.SYSTEM or is_compaction(message) or is_asked_by_call(message)
            return 0 if unseen or not message.content.strip() else len(message.content) // BYTES_PER_TOKEN + FRAME
