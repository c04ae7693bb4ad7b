"""Buffers deltas that readers have seen but that are not on disk yet: joins them into pieces for the writer, keeps them until durable."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from anycowork.domain.events import EventType, NewEvent, Record
from anycowork.domain.messages import Json
from anycowork.domain.values import mutable_value, value
from anycowork.store.sql.envelopes import RecordRow, encoded

LARGEST_PIECE = 1024
Key = tuple[str, str, EventType]


@value
class StreamDelta:
    """One delta as it was shown to readers."""

    chat_id: str
    turn_id: str
    message_id: str
    kind: EventType
    offset: int
    text: str
    seq: int
    id: str
    recorded_at: str
    job_id: str | None = None
    task_id: str | None = None

    def entry(self) -> RecordRow:
        text: Json = {"message_id": self.message_id, "offset": self.offset, "text": self.text}
        draft = NewEvent(self.kind, text, turn_id=self.turn_id, job_id=self.job_id, task_id=self.task_id)
        body = encoded(draft, seq=self.seq, record_id=self.id, chat_id=self.chat_id, recorded_at=self.recorded_at)
        return RecordRow(self.chat_id, self.seq, self.kind, body, self.message_id)

    def record(self) -> Record:
        """Returns the record as it is shown live: without a position among all chats' records."""
        return self.entry().at(0)


@dataclass(slots=True, eq=False)
class DeltaPiece:
    """Consecutive deltas of one message, joined: the text from the first one's offset, under the last one's number.

    A reader who has seen some of them and reconnects gets the whole piece; the offset makes the repetition harmless.
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
    """Pieces that are dropped if a change is written, and restored if it is not."""

    chat_id: str
    message_id: str | None
    pieces: list[DeltaPiece] = field(default_factory=list)

    def covers(self, delta: StreamDelta) -> bool:
        return delta.chat_id == self.chat_id and self.message_id in (None, delta.message_id)


@mutable_value
class DeltaBuffer:
    """Pieces go through the states open (growing), sealed, writing, durable. After a failed write they are sealed again."""

    _open: dict[Key, DeltaPiece] = field(default_factory=dict)
    _sealed: list[DeltaPiece] = field(default_factory=list)
    _writing: list[DeltaPiece] = field(default_factory=list)
    _drops: list[DroppedDeltas] = field(default_factory=list)

    def add(self, delta: StreamDelta) -> bool:
        """Adds a delta. Returns True if a piece is now large enough to be written."""
        for drop in self._drops:  # written before its message, but shown only now
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

    def start_writing(self, *, open_too: bool) -> list[DeltaPiece]:
        """Returns the pieces that are to be written now."""
        leaving = self._sealed
        self._sealed = []
        if open_too:
            leaving += self._open.values()
            self._open = {}
        self._writing += leaving
        return leaving

    def finish_writing(self, pieces: Iterable[DeltaPiece], *, durable: bool) -> None:
        landed = list(pieces)
        self._writing = [piece for piece in self._writing if piece not in landed]
        for piece in landed:
            piece.durable = durable
        if not durable:
            self._sealed[:0] = [piece for piece in landed if not piece.dropped]

    def drop(self, chat_id: str, message_id: str | None = None) -> DroppedDeltas:
        """Drops the pieces of a message that is about to replace them; without a message, those of the whole chat.

        End it with `finish` or `restore`.
        """
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

    def restore(self, drop: DroppedDeltas) -> None:
        """Restores the pieces, because the message was not written."""
        self._drops.remove(drop)
        for piece in drop.pieces:
            piece.dropped = False
            if not piece.durable and piece not in self._writing:
                self._sealed.append(piece)

    def of(self, chat_id: str) -> list[DeltaPiece]:
        """Returns the text that readers have seen of messages that they have not: it is dropped when its message is shown, not when it is
        written.
        """
        leaving = [piece for drop in self._drops for piece in drop.pieces]
        staying = [piece for piece in self._all() if not piece.dropped]
        return [piece for piece in leaving + staying if piece.first.chat_id == chat_id]

    def __bool__(self) -> bool:
        return bool(self._open or self._sealed or self._writing)

    def _all(self) -> list[DeltaPiece]:
        return [*self._writing, *self._sealed, *self._open.values()]
