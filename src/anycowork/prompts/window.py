"""What of a chat a model is shown when not all of it fits. Pure: what is stored is never changed.

In this order something gives way, the oldest first: results of earlier turns are cut, earlier turns are left out,
results of the current turn are cut, steps of the current turn are left out, and last of all what the person said
earlier in it. The system prompt and the newest message of the person always stay.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.ports import Said
from anycowork.prompts.conversation import SYSTEM, USER, conversation, merged, result_of, said, with_words
from anycowork.prompts.cutting import cut_middle
from anycowork.prompts.tokens import BYTES_PER_TOKEN, FRAME, request_tokens, tokens

RESULT_CAP = 16_384  # bytes of one result that a model is shown, whatever the budget
MOST_BYTES = 4  # of one character
SHORT_RESULT = 600  # bytes that remain of a result that gave way
SHORT_MESSAGE = 400  # bytes that remain of the person's newest message at the very least
LEFT_OUT = "[Earlier messages of this chat are left out here.]"

_READ_ON = "read the rest with read_file, giving start_line and end_line"
_NARROW = "the whole is stored; make a narrower call to see another part"
_TOO_LONG = "this message is longer than the model can be shown"


def optimize_history_by_tokens(
    history: Sequence[Message], *, budget: int, system: str = "", ratio: float = 1.0, result_cap: int = RESULT_CAP
) -> tuple[Said, ...]:
    """The system prompt and what fits of the history, weighing at most `budget` (`request_tokens`) unless the minimum alone is more.

    A call and its result come together or not at all, the order is kept, and the newest message of the person is always in.
    """
    window = Window(ratio=ratio, result_cap=result_cap)
    window.extend(history)
    return window.shown(budget=budget, system=system)


class Window:
    """A history that only grows: each message is put into words and weighed once, however often the whole is shown."""

    def __init__(self, *, ratio: float = 1.0, result_cap: int = RESULT_CAP) -> None:
        self._ratio = ratio
        self._result_cap = result_cap
        self._history: list[Message] = []
        self._words: list[tuple[Message, Said]] = []
        self._weight = 0

    def __len__(self) -> int:
        return len(self._history)

    def extend(self, messages: Sequence[Message]) -> None:
        words = with_words(_cut_result(message, self._result_cap) for message in messages)
        self._history += messages
        self._words += words
        self._weight += request_tokens((one for _, one in words), self._ratio)

    def shown(self, *, budget: int, system: str = "") -> tuple[Said, ...]:
        """As `optimize_history_by_tokens`."""
        head = (Said(SYSTEM, system),) if system else ()
        room = budget - request_tokens(head, self._ratio)
        if self._weight <= room:  # nearly always; then nothing has to give way
            return (*head, *merged(self._words))
        shown = [message for message in self._history if said(message) is not None]
        kept = fitting(shown, budget=room, ratio=self._ratio, result_cap=self._result_cap)
        if len(kept) == len(shown):
            return (*head, *conversation(kept))
        return (*head, *_with_note(conversation(kept)))


def fitting(
    messages: Sequence[Message], *, budget: int, ratio: float = 1.0, result_cap: int = RESULT_CAP
) -> tuple[Message, ...]:
    """Those of the messages that fit, some of them cut. Fitting what fits changes nothing."""
    draft = _Draft(messages, budget=budget, ratio=ratio, result_cap=result_cap)
    current = draft.current_turn()
    draft.cut_results(0, current)
    draft.drop(draft.turns(0, current))
    draft.cut_results(current, len(messages))
    draft.drop(draft.steps(current, len(messages)))
    draft.cut_anchor()
    return draft.kept()


def _with_note(kept: tuple[Said, ...]) -> tuple[Said, ...]:
    if kept and kept[0].role == USER:
        return (Said(USER, f"{LEFT_OUT}\n\n{kept[0].content}"), *kept[1:])
    return (Said(USER, LEFT_OUT), *kept)


def _cut_result(message: Message, limit: int) -> Message:
    if message.message_type is not MessageType.TOOL_RESULT or len(message.content) * MOST_BYTES <= limit:
        return message
    way_out = _READ_ON if result_of(message) == "read_file" else _NARROW
    content = cut_middle(message.content, limit, way_out=way_out)
    return message if content is message.content else replace(message, content=content)


class _Draft:
    """The messages with what each weighs; every step stops as soon as the rest fits."""

    def __init__(self, messages: Sequence[Message], *, budget: int, ratio: float, result_cap: int) -> None:
        self._whole = messages
        self._messages = [_cut_result(message, result_cap) for message in messages]
        self._budget = budget
        self._ratio = ratio
        self._short = min(SHORT_RESULT, result_cap)
        self._costs = [self._weight(message) for message in self._messages]
        self._total = sum(self._costs)
        self._dropped: set[int] = set()
        self._units = list(_units(messages))
        self.anchor = _newest_of_the_person(messages)

    def kept(self) -> tuple[Message, ...]:
        return tuple(message for index, message in enumerate(self._messages) if index not in self._dropped)

    def current_turn(self) -> int:
        """Where the turn begins in which the person spoke last: with that message, or with the request that it answers into."""
        if self.anchor < 0:
            return 0
        turn_id = self._messages[self.anchor].turn_id
        same = (index for index, message in enumerate(self._messages) if turn_id and message.turn_id == turn_id)
        first = next(same, self.anchor)
        return next(unit.start for unit in self._units if first in unit)

    def steps(self, start: int, stop: int) -> list[range]:
        """The units that may go, in that order: the agent's own, then those with words of the person; never the newest of these."""
        units = [unit for unit in self._between(start, stop) if self.anchor not in unit]
        return sorted(units, key=lambda unit: any(_from_the_person(self._messages[index]) for index in unit))

    def turns(self, start: int, stop: int) -> list[range]:
        """Units together, from one message of the person to the next."""
        turns: list[range] = []
        for unit in self._between(start, stop):
            if turns and not _from_the_person(self._messages[unit.start]):
                turns[-1] = range(turns[-1].start, unit.stop)
            else:
                turns.append(unit)
        return turns

    def cut_results(self, start: int, stop: int) -> None:
        for index in range(start, stop):
            if self._fits():
                return
            self._put(index, _cut_result(self._whole[index], self._short))

    def drop(self, spans: Iterable[range]) -> None:
        for span in spans:
            if self._fits():
                return
            self._dropped.update(span)
            self._total -= sum(self._costs[index] for index in span)

    def cut_anchor(self) -> None:
        """The person's newest message is too long by itself: its beginning and its end are shown."""
        if self._fits() or self.anchor < 0 or not _from_the_person(self._messages[self.anchor]):
            return
        message = self._messages[self.anchor]
        others = self._total - self._costs[self.anchor]
        bytes_left = int((self._budget - self._note_weight() - others - FRAME) * BYTES_PER_TOKEN / self._ratio)
        content = cut_middle(message.content, max(SHORT_MESSAGE, bytes_left), way_out=_TOO_LONG)
        self._put(self.anchor, replace(message, content=content))

    def _between(self, start: int, stop: int) -> list[range]:
        return [unit for unit in self._units if start <= unit.start < stop]

    def _fits(self) -> bool:
        return self._total + self._note_weight() <= self._budget

    def _note_weight(self) -> int:
        return tokens(LEFT_OUT, self._ratio) + FRAME if self._dropped else 0

    def _put(self, index: int, message: Message) -> None:
        weight = self._weight(message)
        self._total += weight - self._costs[index]
        self._messages[index], self._costs[index] = message, weight

    def _weight(self, message: Message) -> int:
        one = said(message)
        return 0 if one is None else tokens(one.content, self._ratio) + FRAME


def _newest_of_the_person(messages: Sequence[Message]) -> int:
    """Its index; without one, that of the newest message (-1 if there is none)."""
    newest_first = range(len(messages) - 1, -1, -1)
    return next((index for index in newest_first if _from_the_person(messages[index])), len(messages) - 1)


def _from_the_person(message: Message) -> bool:
    return message.role is Speaker.USER and message.message_type not in _NOT_WORDS


_NOT_WORDS = {MessageType.TOOL_CALL, MessageType.TOOL_RESULT, MessageType.ROLE_CHANGE}


def _units(messages: Sequence[Message]) -> Iterator[range]:
    """The smallest spans in which every call stands with its result: what is kept or dropped as one."""
    last = {call_id: index for index, message in enumerate(messages) if (call_id := _call_id(message))}
    start = end = 0
    for index, message in enumerate(messages):
        end = max(end, index, last.get(_call_id(message), index))
        if index == end:
            yield range(start, end + 1)
            start = end + 1


def _call_id(message: Message) -> str:
    payload = message.payload or {}
    match message.message_type:
        case MessageType.TOOL_CALL:
            return str(payload.get("id") or "")
        case MessageType.TOOL_RESULT:
            return str(payload.get("tool_call_id") or "")
        case _:
            return ""
