"""Assigns each chat's sequence numbers, and shows records in strictly ascending order, whichever commits first."""

from collections import deque
from collections.abc import Callable
from dataclasses import field

import msgspec

from anycowork.domain.values import mutable_value

Show = Callable[[], None]


class SequenceSlot(msgspec.Struct):
    """A numbered record that may not be shown yet. `show` is None until the outcome is known."""

    first_seq: int
    show: Show | None = None


@mutable_value
class ChatSequence:
    next_seq: int
    _waiting: deque[SequenceSlot] = field(default_factory=deque)

    def take(self, count: int) -> int:
        """Returns the first of `count` new numbers. No number is assigned twice."""
        first = self.next_seq
        self.next_seq += count
        return first

    def hold(self, first_seq: int) -> SequenceSlot:
        """Holds back every record numbered from here on until `settle` is called for this slot."""
        slot = SequenceSlot(first_seq)
        self._waiting.append(slot)
        return slot

    def settle(self, slot: SequenceSlot, show: Show) -> None:
        slot.show = show
        while self._waiting and (ready := self._waiting[0].show):
            self._waiting.popleft()
            ready()

    def show(self, seq: int, show: Show) -> None:
        """Shows the record now if everything before it was shown, otherwise right after that."""
        if self._waiting:
            self._waiting.append(SequenceSlot(seq, show))
        else:
            show()

    @property
    def horizon(self) -> int:
        """Returns the number up to which every record was shown, or never will be."""
        return (self._waiting[0].first_seq if self._waiting else self.next_seq) - 1

    @property
    def is_idle(self) -> bool:
        return not self._waiting


class ChatSequencer:
    """Keeps one `ChatSequence` per chat. `load` reads a chat's next number when it is first used."""

    def __init__(self, load: Callable[[str], int]) -> None:
        self._load = load
        self._sequences: dict[str, ChatSequence] = {}

    def of(self, chat_id: str) -> ChatSequence:
        sequence = self._sequences.get(chat_id)
        if sequence is None:
            sequence = self._sequences[chat_id] = ChatSequence(self._load(chat_id))
        return sequence

    def knows(self, chat_id: str) -> bool:
        return chat_id in self._sequences

    def start_at(self, chat_id: str, next_seq: int) -> None:
        """Takes a chat's next number that was read for it, unless it is known by now."""
        self._sequences.setdefault(chat_id, ChatSequence(next_seq))

    def idle(self) -> list[str]:
        return [chat_id for chat_id, sequence in self._sequences.items() if sequence.is_idle]

    def bound(self, chat_id: str) -> int | None:
        """Returns the number up to which every record was shown; None for a chat that was not written to here."""
        sequence = self._sequences.get(chat_id)
        return None if sequence is None else sequence.horizon

    def forget(self, chat_id: str) -> None:
        sequence = self._sequences.get(chat_id)
        if sequence is not None and sequence.is_idle:
            del self._sequences[chat_id]
