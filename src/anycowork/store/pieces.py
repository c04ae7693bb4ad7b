"""Deltas that readers have seen and the disk has not: gathered into pieces, handed to the writer, kept until they are durable."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from anycowork.domain.events import Draft, EventType, Record
from anycowork.store.records import Entry

LARGEST_PIECE = 1024
Key = tuple[str, str, EventType]


@dataclass(frozen=True, slots=True)
class Delta:
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

    def entry(self) -> Entry:
        draft = Draft(
            self.kind, {"message_id": self.message_id, "offset": self.offset, "text": self.text}, turn_id=self.turn_id
        )
        envelope = draft.envelope(seq=self.seq, record_id=self.id, chat_id=self.chat_id, at=self.at)
        record = Record(self.chat_id, self.seq, self.kind, msgspec.json.encode(envelope, order="sorted"))
        return Entry(record, self.id, self.message_id)


@dataclass(slots=True)
class Piece:
    """Deltas of one message in a row, as one: the whole text from the first one's offset, under the last one's number.

    So a reader who has seen any of them and comes back is given all of the piece, and offsets make that harmless.
    """

    first: Delta
    last: Delta
    texts: list[str]
    size: int
    dropped: bool = False
    durable: bool = False

    @property
    def key(self) -> Key:
        return (self.first.chat_id, self.first.message_id, self.first.kind)

    def continues_with(self, delta: Delta) -> bool:
        return delta.offset == self.first.offset + self.size and delta.turn_id == self.first.turn_id

    def add(self, delta: Delta) -> None:
        self.last = delta
        self.texts.append(delta.text)
        self.size += len(delta.text)

    def entry(self) -> Entry:
        return replace(self.last, offset=self.first.offset, text="".join(self.texts)).entry()


@dataclass(slots=True)
class Pieces:
    """open (still growing) → sealed → flying (with the writer) → durable; after a failed flight, sealed again."""

    _open: dict[Key, Piece] = field(default_factory=dict)
    _sealed: list[Piece] = field(default_factory=list)
    _flying: list[Piece] = field(default_factory=list)

    def add(self, delta: Delta) -> bool:
        """True if a piece is large enough for the disk now."""
        key = (delta.chat_id, delta.message_id, delta.kind)
        piece = self._open.get(key)
        if piece is not None and piece.continues_with(delta):
            piece.add(delta)
        else:
            if piece is not None:
                self._sealed.append(piece)
            piece = self._open[key] = Piece(delta, delta, [delta.text], len(delta.text))
        if piece.size < LARGEST_PIECE:
            return False
        self._sealed.append(self._open.pop(key))
        return True

    def take_off(self, *, open_too: bool) -> list[Piece]:
        """What is to be made durable now."""
        leaving = self._sealed
        self._sealed = []
        if open_too:
            leaving += self._open.values()
            self._open = {}
        self._flying += leaving
        return leaving

    def land(self, pieces: Iterable[Piece], *, durable: bool) -> None:
        landed = list(pieces)
        self._flying = [piece for piece in self._flying if not _among(piece, landed)]
        for piece in landed:
            piece.durable = durable
        if not durable:
            self._sealed[:0] = [piece for piece in landed if not piece.dropped]

    def drop(self, chat_id: str, message_id: str | None = None) -> list[Piece]:
        """The message itself is about to stand in their place; without one, the whole chat goes."""
        gone = [p for p in self._all() if p.first.chat_id == chat_id and message_id in (None, p.first.message_id)]
        for piece in gone:
            piece.dropped = True
            self._open.pop(piece.key, None)
        self._sealed = [piece for piece in self._sealed if not piece.dropped]
        return gone

    def take_back(self, dropped: Iterable[Piece]) -> None:
        """The message was not written after all."""
        for piece in dropped:
            piece.dropped = False
            if not piece.durable and not _among(piece, self._flying):
                self._sealed.append(piece)

    def of(self, chat_id: str) -> list[Piece]:
        return [piece for piece in self._all() if piece.first.chat_id == chat_id and not piece.dropped]

    def __bool__(self) -> bool:
        return bool(self._open or self._sealed or self._flying)

    def _all(self) -> list[Piece]:
        return [*self._flying, *self._sealed, *self._open.values()]


def _among(piece: Piece, others: Iterable[Piece]) -> bool:
    return any(piece is other for other in others)
