"""Shortens a chat that does not fit into the model's context. Pure: stored messages are never changed.

In this order, the oldest first: results of earlier turns are cut, earlier turns are left out, results of the current turn
are cut, steps of the current turn are left out, and last of all what the person said earlier in it. The newest message of
the person always stays.
"""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from anycowork.domain.attached_files import with_quoted_files
from anycowork.domain.hooks import with_hook_words
from anycowork.domain.messages import Message, MessageType, Speaker, is_continuation
from anycowork.domain.model import PromptMessage
from anycowork.domain.secret_values import as_told
from anycowork.domain.values import leaf_value, replace
from anycowork.prompts.compaction import is_compaction
from anycowork.prompts.conversation import TURN_OVER, plain_prompt_message, prompt_message, result_of
from anycowork.prompts.tokens import BYTES_PER_TOKEN, FRAME, cut_middle, image_tokens, size, tokens

T = TypeVar("T")
RESULT_CAP = 16_384  # bytes of one result that a model is shown, whatever the budget
MOST_BYTES = 4  # of one character
SHORT_RESULT = 600  # bytes that remain of a result that gave way
SHORT_MESSAGE = 400  # bytes that remain of the person's newest message at the very least
LEFT_OUT = "[Earlier messages of this chat are left out here.]"
_MOST_REMEMBERED = 2_048  # messages whose form is kept for the next turn
_LARGEST_REMEMBERED = 4_096  # characters
_TEXT = MessageType.TEXT  # Python 3.11 takes long to look up a member of an enum
_STEPS_STAGE = 3  # steps of the current turn are left out

_READ_ON = "read the rest with read_file, giving start_line and end_line"
_NARROW = "the whole is stored; make a narrower call to see another part"
_TOO_LONG = "this message is longer than the model can be shown"


@leaf_value
class MeasuredMessage:
    """`shortened` is the `original` message, perhaps truncated; `prompt_form` is its prompt form (None if it has none), `tokens` its size at
    the model's `ratio`."""

    original: Message
    shortened: Message
    prompt_form: PromptMessage | None
    tokens: int
    form: "_MessageForm"
    ratio: float


_remembered: dict[tuple[str, int], MeasuredMessage] = {}


def measured(message: Message, *, ratio: float, result_cap: int, before_cut: Message | None = None) -> MeasuredMessage:
    """Measures a message; a result is truncated to `result_cap`. `before_cut` is the message before an earlier truncation.

    Remembers recent messages, because each turn measures the same ones again. One that differs in anything is measured anew.
    """
    original, key = before_cut or message, (message.id, result_cap)
    remembered = _remembered.get(key)
    if remembered is None or (remembered.form.original is not message and remembered.form.original != message):
        form = _made_form(message, result_cap)
    elif remembered.original is original and remembered.ratio == ratio:
        return remembered
    else:
        form = remembered.form
    item = MeasuredMessage(original, form.shortened, form.prompt_form, _weight(form, ratio), form, ratio)
    if len(message.content) <= _LARGEST_REMEMBERED:
        if key not in _remembered and len(_remembered) >= _MOST_REMEMBERED:
            del _remembered[next(iter(_remembered))]
        _remembered[key] = item
    return item


def _weight(form: "_MessageForm", ratio: float) -> int:
    if form.prompt_form is None:
        return 0
    weight = math.ceil(form.size / BYTES_PER_TOKEN * ratio) + FRAME
    if form.may_follow_result:
        # before words that follow a result a note is put, which is weighed with them whether it will stand there or not
        weight += note_tokens(TURN_OVER, ratio) + form.image_tokens
    return weight


@leaf_value
class _MessageForm:
    """What measuring a message finds out that does not depend on the model. `size` is in bytes."""

    original: Message
    shortened: Message
    prompt_form: PromptMessage | None
    call_id: str
    is_result: bool
    is_digest: bool
    is_from_the_person: bool
    size: int = 0
    may_follow_result: bool = False
    image_tokens: int = 0


def _made_form(message: Message, result_cap: int) -> _MessageForm:
    is_plain = message.payload is None and message.role is not Speaker.TOOL
    if is_plain and message.message_type is _TEXT:  # nearly every message of a long chat
        return _plain_form(message)
    told = message if is_plain else as_told(message)
    more = told.payload is not None and told.role is Speaker.USER  # perhaps files, images and words of hooks
    shortened = _cut_result(with_hook_words(with_quoted_files(told)) if more else told, result_cap)
    prompt_form, by_person = prompt_message(shortened), is_from_the_person(shortened)
    is_result = shortened.message_type is MessageType.TOOL_RESULT
    kind = (call_id_of(shortened), is_result, is_compaction(shortened), by_person)
    if prompt_form is None:
        return _MessageForm(message, shortened, None, *kind)
    images = image_tokens(prompt_form) if more else 0
    return _MessageForm(
        message,
        shortened,
        prompt_form,
        *kind,
        size(prompt_form.content),
        by_person or is_continuation(shortened),
        images,
    )


def _plain_form(message: Message) -> _MessageForm:
    prompt_form, by_person = plain_prompt_message(message), message.role is Speaker.USER
    kind = ("", False, False, by_person)
    if prompt_form is None:
        return _MessageForm(message, message, None, *kind)
    return _MessageForm(message, message, prompt_form, *kind, size(message.content), by_person)


@lru_cache(maxsize=64)
def note_tokens(text: str, ratio: float) -> int:
    """Returns the tokens of a note that stands as a message of its own."""
    return tokens(text, ratio) + FRAME


class HistoryBudget:
    """An append-only history within a budget. Dropped messages stay dropped, so that appending costs only the new messages;
    the result is the same whether messages came one by one or all at once."""

    def __init__(self, *, budget: int, ratio: float, result_cap: int, begins_late: bool = False) -> None:
        """`begins_late`: earlier messages are left out already."""
        self.budget = budget
        self._begins_late = begins_late
        self._ratio = ratio
        self._short = min(SHORT_RESULT, result_cap)
        self.version = 0
        """Changes whenever `kept` changes otherwise than by messages added at its end or left out at its beginning."""
        self.left_out_first = 0
        """How many messages were left out at the beginning; 0 when all are lined up anew."""
        self._begin([])

    @property
    def left_out(self) -> bool:
        return self._begins_late or len(self._kept) < self._count

    @property
    def current_turn_cut(self) -> bool:
        """Whether the model no longer sees what it did in this turn: a step is left out, or even the newest of its results is cut."""
        return self._stage >= _STEPS_STAGE or (self._cut_results > 1 and not self._results)

    def extend(self, items: Sequence[MeasuredMessage]) -> None:
        if self._goes_on(items):
            self._append(items)
        else:
            self._begin([*self._items, *items])
        self._give_way()

    def kept(self) -> Iterable[MeasuredMessage]:
        """Returns the kept messages in order. If the person's newest message alone is too long, its beginning and end are kept."""
        anchor = self._kept.get(self._anchor)
        if self._fits() or anchor is None or not anchor.form.is_from_the_person:
            return self._kept.values()
        self.version += 1
        tokens_left = self.budget - self._note_tokens() - (self._total - anchor.tokens) - FRAME
        tokens_left -= image_tokens(anchor.prompt_form) if anchor.prompt_form else 0
        bytes_left = max(SHORT_MESSAGE, int(tokens_left * BYTES_PER_TOKEN / self._ratio))
        content = cut_middle(anchor.shortened.content, bytes_left, way_out=_TOO_LONG)
        cut = self._weighed(replace(anchor.shortened, content=content), anchor.original)
        return (self._kept | {self._anchor: cut}).values()

    # --- what is there

    def _goes_on(self, items: Sequence[MeasuredMessage]) -> bool:
        """Whether these messages only extend the current turn, without moving its beginning or separating a call from its result."""
        anchor = self._kept.get(self._anchor)
        return (
            anchor is not None
            and anchor.form.is_from_the_person
            and not any(item.form.is_from_the_person for item in items)
            and self._call_ids.isdisjoint(item.form.call_id for item in items)
        )

    def _begin(self, items: list[MeasuredMessage]) -> None:
        self.version += 1
        self._items = items
        self._count = len(items)
        self._kept = dict(enumerate(items))
        self.left_out_first = 0
        self._total = sum(item.tokens for item in items)
        self._call_ids = set[str]()
        self._digests = _digests_in(items, 0)
        self._stage = 0
        self._cut_results = 0  # of the current turn
        self._early_results: deque[int] = deque()
        self._early_turns: deque[range] = deque()
        self._results: deque[int] = deque()
        self._steps: deque[range] = deque()
        self._steps_of_the_person: deque[range] = deque()
        self._line_up()

    def _append(self, items: Sequence[MeasuredMessage]) -> None:
        start = self._count
        self._items += items
        self._count += len(items)
        self._kept.update(enumerate(items, start))
        self._total += sum(item.tokens for item in items)
        self._digests |= _digests_in(items, start)
        units = _units(items, self._call_ids)
        self._line_up_current(range(start + unit.start, start + unit.stop) for unit in units)

    # --- what gives way first

    def _line_up(self) -> None:
        units = _units(self._items, self._call_ids)
        self._anchor = _newest_of_the_person(self._items)
        current = self._current_turn(units)
        early = units[:current]
        before = self._items[: early[-1].stop] if early else []
        self._early_results.extend([index for index, item in enumerate(before) if item.form.is_result])
        self._early_turns.extend(self._turns(self._without_digests(early) if self._digests else early))
        self._line_up_current(units[current:])

    def _line_up_current(self, units: Iterable[range]) -> None:
        """Queue the units of the current turn: the agent's steps are dropped before messages of the person; the newest never."""
        for unit in units:
            self._results.extend([index for index in unit if self._items[index].form.is_result])
            if self._anchor in unit or self._is_digest(unit):
                continue
            has_person = any(self._items[index].form.is_from_the_person for index in unit)
            (self._steps_of_the_person if has_person else self._steps).append(unit)

    def _is_digest(self, unit: range) -> bool:
        """A digest stands for all that is left out already; it is bounded, and stays."""
        return not self._digests.isdisjoint(unit)

    def _without_digests(self, units: Sequence[range]) -> list[range]:
        return [unit for unit in units if not self._is_digest(unit)]

    def _current_turn(self, units: Sequence[range]) -> int:
        """Returns the place of the unit with which the turn of the person's last message begins."""
        if not units:
            return 0
        turn_id = self._items[self._anchor].shortened.turn_id
        first = [item.shortened.turn_id for item in self._items].index(turn_id) if turn_id else self._anchor
        return bisect_right([unit.start for unit in units], first) - 1

    def _turns(self, units: Sequence[range]) -> list[range]:
        """Groups units from one message of the person to the next."""
        if not units:
            return []
        turns: list[range] = []
        items, start, stop = self._items, units[0].start, units[0].stop
        for unit in units[1:]:
            if items[unit.start].form.is_from_the_person:
                turns.append(range(start, stop))
                start = unit.start
            stop = unit.stop
        return [*turns, range(start, stop)]

    # --- giving way

    def _give_way(self) -> None:
        """Truncate and drop until the rest fits. New items of a finished stage are dropped at once."""
        self._while_needed(0, self._early_results, self._cut)
        self._while_needed(1, self._early_turns, self._drop)
        self._while_needed(2, self._results, self._cut_current)
        self._while_needed(_STEPS_STAGE, self._steps, self._drop)
        self._while_needed(4, self._steps_of_the_person, self._drop)

    def _while_needed(self, stage: int, waiting: deque[T], give_way: Callable[[T], None]) -> None:
        while waiting and (stage < self._stage or not self._fits()):
            self._stage = max(self._stage, stage)
            give_way(waiting.popleft())

    def _cut(self, index: int) -> None:
        self.version += 1
        item = self._kept[index]
        short = self._weighed(item.original, item.original)
        self._total += short.tokens - item.tokens
        self._kept[index] = short

    def _cut_current(self, index: int) -> None:
        tokens_before = self._kept[index].tokens
        self._cut(index)
        self._cut_results += self._kept[index].tokens < tokens_before

    def _drop(self, span: range) -> None:
        if next(iter(self._kept)) == span.start:
            self.left_out_first += len(span)
        else:
            self.version += 1
        self._total -= sum(self._kept.pop(index).tokens for index in span)

    def _fits(self) -> bool:
        return self._total + self._note_tokens() <= self.budget

    def _note_tokens(self) -> int:
        return note_tokens(LEFT_OUT, self._ratio) if self.left_out else 0

    def _weighed(self, message: Message, original: Message) -> MeasuredMessage:
        return measured(message, ratio=self._ratio, result_cap=self._short, before_cut=original)


def shown_result(message: Message) -> Message:
    """Returns the result as far as any model is shown it."""
    return _cut_result(message, RESULT_CAP)


def _cut_result(message: Message, limit: int) -> Message:
    if message.message_type is not MessageType.TOOL_RESULT or len(message.content) * MOST_BYTES <= limit:
        return message
    way_out = _READ_ON if result_of(message) == "read_file" else _NARROW
    content = cut_middle(message.content, limit, way_out=way_out)
    return message if content is message.content else replace(message, content=content)


def _digests_in(items: Sequence[MeasuredMessage], start: int) -> set[int]:
    return {index for index, item in enumerate(items, start) if item.form.is_digest}


def _newest_of_the_person(items: Sequence[MeasuredMessage]) -> int:
    """Returns the index of the person's newest message; without one, of the newest message (-1 if there is none)."""
    newest_first = range(len(items) - 1, -1, -1)
    return next((index for index in newest_first if items[index].form.is_from_the_person), len(items) - 1)


def is_from_the_person(message: Message) -> bool:
    return message.role is Speaker.USER and message.message_type not in _NOT_WORDS


_NOT_WORDS = {MessageType.TOOL_CALL, MessageType.TOOL_RESULT, MessageType.ROLE_CHANGE}


def _units(items: Sequence[MeasuredMessage], call_ids: set[str]) -> list[range]:
    """Returns the smallest spans that keep every call together with its result. Adds the ids of the calls to `call_ids`."""
    ids = [item.form.call_id for item in items]
    last = {call_id: index for index, call_id in enumerate(ids) if call_id}
    call_ids.update(last)
    units: list[range] = []
    start = end = 0
    for index, call_id in enumerate(ids):
        if call_id:
            end = max(end, last[call_id])
        if index >= end:
            units.append(range(start, index + 1))
            start = end = index + 1
    return units


def call_id_of(message: Message) -> str:
    payload = message.payload
    if payload is None:
        return ""
    match message.message_type:
        case MessageType.TOOL_CALL:
            return str(payload.get("id") or "")
        case MessageType.TOOL_RESULT:
            return str(payload.get("tool_call_id") or "")
        case _:
            return ""
