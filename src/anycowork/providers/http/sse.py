"""Parses server-sent events incrementally: takes bytes in any pieces, returns the `data` of complete events. Pure."""

import re

MAX_EVENT_BYTES = 8 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """One event exceeded any sensible size: the other side does not speak this protocol."""


class SseReader:
    """Returns each event's data once the event is complete. Drops comments and other fields."""

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._at_start = True

    def feed(self, piece: bytes) -> list[bytes]:
        """Returns the data of the events that this piece completes. Raises: EventTooLarge."""
        held_back = self._rest.endswith(b"\r")
        self._rest += piece
        self._skip_byte_order_mark()
        if not held_back and b"\n" not in piece and b"\r" not in piece:
            self._check_size(len(self._rest))
            return []
        self._at_start = False
        # A final CR may be the first half of a CRLF, so it waits for the next byte.
        complete = len(self._rest) - self._rest.endswith(b"\r")
        *lines, last = _LINE_END.split(bytes(self._rest[:complete]))
        self._rest = bytearray(last) + self._rest[complete:]
        self._check_size(len(self._rest))
        return [event for line in lines if (event := self._read_line(line)) is not None]

    def close(self) -> list[bytes]:
        """Returns an event that the stream left without its closing blank line: some servers forget it after `[DONE]`."""
        lines = [bytes(self._rest).removesuffix(b"\r"), b""] if self._rest else [b""]
        self._rest.clear()
        return [event for line in lines if (event := self._read_line(line)) is not None]

    def _skip_byte_order_mark(self) -> None:
        if self._at_start and len(self._rest) >= len(_BOM):
            self._at_start = False
            if self._rest.startswith(_BOM):
                del self._rest[: len(_BOM)]

    def _read_line(self, line: bytes) -> bytes | None:
        """Reads a line. A blank line ends the event; all fields but data are ignored."""
        if not line:
            event = b"\n".join(self._data) if self._data else None
            self._data, self._size = [], 0
            return event
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1  # including its line end: many empty lines are large, too
            self._check_size(self._size)
        return None

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise EventTooLarge(f"an event of more than {self._limit} bytes")
