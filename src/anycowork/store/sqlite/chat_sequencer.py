"""One line per chat: gives out its numbers and decides when a record may be seen. Strictly ascending, whatever commits when."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

Show = Callable[[], None]


@dataclass(slots=True)
class SequenceSlot:
    """Something numbered that may not be seen yet. `show` is None until its outcome is known."""

    first_seq: int
    show: Show | None = None


@dataclass(slots=True)
class ChatSequence:
    next_seq: int
    _waiting: deque[SequenceSlot] = field(default_factory=deque)

    def take(self, count: int) -> int:
        """The first of `count` new numbers. A number once taken is never given again."""
        first = self.next_seq
        self.next_seq += count
        return first

    def hold(self, first_seq: int) -> SequenceSlot:
        """What is numbered from here on stays unseen until `settle` of this place."""
        place = SequenceSlot(first_seq)
        self._waiting.append(place)
        return place

    def settle(self, place: SequenceSlot, show: Show) -> None:
        place.show = show
        while self._waiting and (ready := self._waiting[0].show):
            self._waiting.popleft()
            ready()

    def show(self, seq: int, show: Show) -> None:
        """At once if everything before it has been seen, otherwise right after that."""
        if self._waiting:
            self._waiting.append(SequenceSlot(seq, show))
        else:
            show()

    @property
    def horizon(self) -> int:
        """Everything up to this number has been seen, or never will be."""
        return (self._waiting[0].first_seq if self._waiting else self.next_seq) - 1

    @property
    def quiet(self) -> bool:
        return not self._waiting


class ChatSequencer:
    """`load` reads where a chat's numbers stand when it is first touched."""

    def __init__(self, load: Callable[[str], int]) -> None:
        self._load = load
        self._lines: dict[str, ChatSequence] = {}

    def of(self, chat_id: str) -> ChatSequence:
        line = self._lines.get(chat_id)
        if line is None:
            line = self._lines[chat_id] = ChatSequence(self._load(chat_id))
        return line

    def horizon(self, chat_id: str) -> int | None:
        """None if nothing of this chat is under way."""
        line = self._lines.get(chat_id)
        return None if line is None or line.quiet else line.horizon

    def last_shown(self, chat_id: str) -> int:
        """No higher number has been seen by anyone."""
        line = self._lines.get(chat_id)
        return self._load(chat_id) - 1 if line is None else line.horizon

    def forget(self, chat_id: str) -> None:
        line = self._lines.get(chat_id)
        if line is not None and line.quiet:
            del self._lines[chat_id]
