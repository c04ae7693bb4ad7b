"""Selects the part of a chat that the model is shown, everything if it fits, else what `history_budget.py` keeps, and tells how much of
a long chat must be read for it. Pure: stored messages are never changed."""

from collections.abc import Iterable, Sequence

from anycowork.domain.messages import Message, MessageType, Speaker, draft_start, is_asked_by_call
from anycowork.domain.model import ContentPart, PromptMessage
from anycowork.domain.person_commands import ended_command
from anycowork.domain.values import value
from anycowork.prompts.compaction import is_compaction
from anycowork.prompts.conversation import SYSTEM, USER, PromptConversation, is_summary
from anycowork.prompts.history_budget import (
    LEFT_OUT,
    RESULT_CAP,
    SHORT_RESULT,
    HistoryBudget,
    MeasuredMessage,
    call_id_of,
    is_from_the_person,
    measured,
    note_tokens,
)
from anycowork.prompts.tokens import BYTES_PER_TOKEN, FRAME, tokens

_TEXT, _SYSTEM = MessageType.TEXT, Speaker.SYSTEM  # Python 3.11 takes long to look up a member of an enum


def optimize_history_by_tokens(
    history: Sequence[Message], *, budget: int, system: str = "", ratio: float = 1.0, result_cap: int = RESULT_CAP
) -> tuple[PromptMessage, ...]:
    """The system prompt and what fits of the history, weighing at most `budget` (`request_tokens`) unless the minimum alone is more.

    A call and its result come together or not at all, the order is kept, and the newest message of the person is always in.
    """
    window = Window(ratio=ratio, result_cap=result_cap)
    window.extend(history)
    return window.shown(budget=budget, system=system).messages


@value
class PromptHistory:
    """The messages for the model, and their estimated tokens: counted per message, before adjacent ones are merged.

    `full`: something that the agent did in the current turn is not among them.
    """

    messages: tuple[PromptMessage, ...]
    tokens: int
    full: bool = False


class Window:
    """An append-only history: each message is converted and measured once, however often the whole is shown."""

    def __init__(self, *, ratio: float = 1.0, result_cap: int = RESULT_CAP, begins_late: bool = False) -> None:
        """`begins_late`: the chat has earlier messages than those that will be added."""
        self.ratio = ratio
        self._begins_late = begins_late
        self._result_cap = result_cap
        self._length = 0
        self._notes: list[Message] = []
        self._items: list[MeasuredMessage] = []
        self._whole = _BuiltConversation()
        self._tokens = 0
        self._system = _System("", 0)
        self._fitting: HistoryBudget | None = None
        self._fitted = 0
        self._part = _BuiltConversation()

    def __len__(self) -> int:
        return self._length

    def add(self, message: Message) -> None:
        """Appends a message. A command that a person ran comes with their next message, never between a call and its result."""
        self._length += 1
        if message.payload is not None and ended_command(message) is not None:
            self._notes.append(message)
            return
        if self._notes and message.role is Speaker.USER:
            for note in self._notes:
                self._append(note)
            self._notes = []
        if message.payload is not None and is_summary(message):
            self._begin_anew()
        if message.payload is not None and (since := draft_start(message)) is not None:
            self._take_back(since)
        self._append(message)

    def _append(self, message: Message) -> None:
        item = measured(message, ratio=self.ratio, result_cap=self._result_cap)
        if item.prompt_form is not None:
            self._items.append(item)
            self._tokens += item.tokens

    def extend(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.add(message)

    def _begin_anew(self) -> None:
        """Drops the messages before a summary from the window; they stay stored."""
        self._items, self._whole, self._tokens = [], _BuiltConversation(), 0
        self._fitting, self._fitted, self._part = None, 0, _BuiltConversation()
        self._begins_late = False

    def _take_back(self, since: str) -> None:
        """Drops what the model did since that message; what a person said meanwhile stays."""
        starts = [index for index, item in enumerate(self._items) if item.original.id == since]
        if not starts:
            return
        kept, dropped = self._items[: starts[0]], self._items[starts[0] :]
        kept += [item for item in dropped if item.original.role is Speaker.USER]
        begins_late = self._begins_late
        self._begin_anew()
        self._items, self._begins_late = kept, begins_late
        self._tokens = sum(item.tokens for item in kept)

    def shown(self, *, budget: int, system: str = "") -> PromptHistory:
        """As `optimize_history_by_tokens`."""
        if self._system.text is not system:
            self._system = _System(system, tokens(system, self.ratio) + FRAME if system else 0)
        system_prompt = self._system
        if (
            system_prompt.tokens + self._tokens <= budget and not self._begins_late
        ):  # nearly always; then nothing has to give way
            self._whole.extend(self._items[self._whole.count :])
            return PromptHistory((*system_prompt.messages, *self._whole.turns), system_prompt.tokens + self._tokens)
        turns, weight = self._within(budget - system_prompt.tokens)
        full = self._fitting is not None and self._fitting.current_turn_cut
        return PromptHistory((*system_prompt.messages, *turns), system_prompt.tokens + weight, full)

    def _within(self, token_budget: int) -> tuple[list[PromptMessage], int]:
        if self._fitting is None or self._fitting.budget != token_budget:
            self._fitted, self._part = 0, _BuiltConversation()
            self._fitting = HistoryBudget(
                budget=token_budget,
                ratio=self.ratio,
                result_cap=self._result_cap,
                begins_late=self._begins_late,
            )
        added = self._items[self._fitted :]
        self._fitting.extend(added)
        self._fitted = len(self._items)
        fitting = self._fitting.kept()
        same = self._part.version == self._fitting.version
        if same and self._part.leave_out_first(self._fitting.left_out_first):
            self._part.extend(added)
        else:
            self._part = _BuiltConversation(self._fitting.version, left_out=self._fitting.left_out_first)
            self._part.extend(fitting)
        if not self._fitting.left_out:
            return self._part.turns, self._part.tokens
        return _with_note(self._part.turns), self._part.tokens + note_tokens(LEFT_OUT, self.ratio)


class _BuiltConversation:
    """What was built of measured messages, and can be extended. `version` is that of the `HistoryBudget` it was built from, `left_out`
    the number of messages that are left out at its beginning."""

    def __init__(self, version: int = 0, *, left_out: int = 0) -> None:
        self.version = version
        self.left_out = left_out
        self.count = 0
        self.tokens = 0
        self._sizes: list[int] = []  # tokens of each message
        self._conversation = PromptConversation()

    @property
    def turns(self) -> list[PromptMessage]:
        return self._conversation.turns

    def extend(self, items: Iterable[MeasuredMessage]) -> None:
        add = self._conversation.add
        for item in items:
            self.count += 1
            if item.prompt_form is not None:
                add(item.shortened, item.prompt_form)
                self.tokens += item.tokens
                self._sizes.append(item.tokens)

    def leave_out_first(self, left_out: int) -> bool:
        """Leaves so many out at the beginning, those included that are left out already; returns False if it must be built anew."""
        more = left_out - self.left_out
        if more == 0:
            return True
        if len(self._sizes) < self.count or not self._conversation.remove_first(more):
            return False
        self.left_out = left_out
        self.count -= more
        self.tokens -= sum(self._sizes[:more])
        del self._sizes[:more]
        return True


@value
class _System:
    """The system prompt, weighed once."""

    text: str
    tokens: int

    @property
    def messages(self) -> tuple[PromptMessage, ...]:
        return (PromptMessage(SYSTEM, self.text),) if self.text else ()


def _with_note(turns: list[PromptMessage]) -> list[PromptMessage]:
    note = ContentPart(LEFT_OUT)
    if turns and turns[0].role == USER:
        return [PromptMessage(USER, f"{LEFT_OUT}\n\n{turns[0].content}", (note, *turns[0].parts)), *turns[1:]]
    return [PromptMessage(USER, LEFT_OUT, (note,)), *turns]


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
    """Returns a lower bound of what the message takes if the model is shown it, truncated as far as possible; 0 if it may not be shown."""
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
