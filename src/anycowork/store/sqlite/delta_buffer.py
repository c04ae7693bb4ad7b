"""Deltas that readers have seen and the disk has not: gathered into pieces, handed to the writer, kept until they are durable."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from anycowork.domain.events import EventType, NewEvent, Record
from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.store.sqlite.envelopes import encoded
from anycowork.store.sqlite.records import RecordRow

LARGEST_PIECE = 1024
Key = tuple[str, str, EventType]


@value
class StreamDelta:
    """One delta as it was shown."""

    chat_id: str
    turn_id: str
    message_id: str
    kind: EventType
    offset: int
    text: str
    seq: int
    id: str
    at: str
    job_id: str | None = None
    task_id: str | None = None

    def entry(self) -> RecordRow:
        text: Json = {"message_id": self.message_id, "offset": self.offset, "text": self.text}
        draft = NewEvent(self.kind, text, turn_id=self.turn_id, job_id=self.job_id, task_id=self.task_id)
        body = encoded(draft, seq=self.seq, record_id=self.id, chat_id=self.chat_id, at=self.at)
        return RecordRow(self.chat_id, self.seq, self.kind, body, self.message_id)

    def record(self) -> Record:
        """As it is shown live: it has no place among the records of all chats."""
        return self.entry().at(0)


@dataclass(slots=True, eq=False)
class DeltaPiece:
    """Deltas of one message in a row, as one: the whole text from the first one's offset, under the last one's number.

    So a reader who has seen any of them and comes back is given all of the piece, and offsets make that harmless.
    """

    first: StreamDelta
    last: StreamDelta
    texts: list[str]
    size: int
    dropped: bool = False
    durable: bool = False

    @property
    def key(self) -> Key:
        return (self.first.chat_id, self.first.message_id, self.first.kind)

    def continues_with(self, delta: StreamDelta) -> bool:
        return delta.offset == self.first.offset + self.size and delta.turn_id == self.first.turn_id

    def add(self, delta: StreamDelta) -> None:
        self.last = delta
        self.texts.append(delta.text)
        self.size += len(delta.text)

    def entry(self) -> RecordRow:
        return self._whole().entry()

    def record(self) -> Record:
        return self._whole().record()

    def _whole(self) -> StreamDelta:
        return replace(self.last, offset=self.first.offset, text="".join(self.texts))


@dataclass(slots=True, eq=False)
class DroppedDeltas:
    """Pieces that go if a change is written, and come back if it is not."""

    chat_id: str
    message_id: str | None
    pieces: list[DeltaPiece] = field(default_factory=list)

    def covers(self, delta: StreamDelta) -> bool:
        return delta.chat_id == self.chat_id and self.message_id in (None, delta.message_id)


@dataclass(slots=True)
class DeltaBuffer:
    """open (still growing) → sealed → flying (with the writer) → durable; after a failed flight, sealed again."""

    _open: dict[Key, DeltaPiece] = field(default_factory=dict)
    _sealed: list[DeltaPiece] = field(default_factory=list)
    _flying: list[DeltaPiece] = field(default_factory=list)
    _drops: list[DroppedDeltas] = field(default_factory=list)

    def add(self, delta: StreamDelta) -> bool:
        """True if a piece is large enough for the disk now."""
        for drop in self._drops:  # said before its message, and seen only now
            if drop.covers(delta):
                drop.pieces.append(DeltaPiece(delta, delta, [delta.text], len(delta.text), dropped=True))
                return False
        key = (delta.chat_id, delta.message_id, delta.kind)
        piece = self._open.get(key)
        if piece is not None and piece.continues_with(delta):
            piece.add(delta)
        else:
            if piece is not None:
                self._sealed.append(piece)
            piece = self._open[key] = DeltaPiece(delta, delta, [delta.text], len(delta.text))
        if piece.size < LARGEST_PIECE:
            return False
        self._sealed.append(self._open.pop(key))
        return True

    def take_off(self, *, open_too: bool) -> list[DeltaPiece]:
        """What is to be made durable now."""
        leaving = self._sealed
        self._sealed = []
        if open_too:
            leaving += self._open.values()
            self._open = {}
        self._flying += leaving
        return leaving

    def land(self, pieces: Iterable[DeltaPiece], *, durable: bool) -> None:
        landed = list(pieces)
        self._flying = [piece for piece in self._flying if piece not in landed]
        for piece in landed:
            piece.durable = durable
        if not durable:
            self._sealed[:0] = [piece for piece in landed if not piece.dropped]

    def drop(self, chat_id: str, message_id: str | None = None) -> DroppedDeltas:
        """The message itself is about to stand in their place; without one, the whole chat goes. End it with `finish` or `take_back`."""
        drop = DroppedDeltas(chat_id, message_id)
        drop.pieces = [piece for piece in self._all() if drop.covers(piece.last)]
        for piece in drop.pieces:
            piece.dropped = True
            self._open.pop(piece.key, None)
        self._sealed = [piece for piece in self._sealed if not piece.dropped]
        self._drops.append(drop)
        return drop

    def finish(self, drop: DroppedDeltas) -> None:
        self._drops.remove(drop)

    def take_back(self, drop: DroppedDeltas) -> None:
        """The message was not written after all."""
        self._drops.remove(drop)
        for piece in drop.pieces:
            piece.dropped = False
            if not piece.durable and piece not in self._flying:
                self._sealed.append(piece)

    def of(self, chat_id: str) -> list[DeltaPiece]:
        """What readers have seen of messages that they have not: text goes when its message is shown, not when it is written."""
        leaving = [piece for drop in self._drops for piece in drop.pieces]
        staying = [piece for piece in self._all() if not piece.dropped]
        return [piece for piece in leaving + staying if piece.first.chat_id == chat_id]

    def __bool__(self) -> bool:
        return bool(self._open or self._sealed or self._flying)

    def _all(self) -> list[DeltaPiece]:
        return [*self._flying, *self._sealed, *self._open.values()]
