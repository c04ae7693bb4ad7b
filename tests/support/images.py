"""Small true images, made by hand: what a browser decodes, and what the server recognises without decoding."""

import struct
import zlib
from base64 import b64encode
from typing import Any


def png(width: int = 3, height: int = 2, *, colour: bytes = b"\x30\x60\xc0", after: bytes = b"") -> bytes:
    rows = (b"\x00" + colour * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", head)
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
        + after
    )


def bomb(width: int, height: int) -> bytes:
    """A PNG whose head promises far more than its bytes hold."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(b"\x00")) + _chunk(b"IEND", b"")


def gif(width: int = 5, height: int = 4) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00\x3b"


def jpeg(width: int = 7, height: int = 6) -> bytes:
    app0 = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    return b"\xff\xd8" + app0 + b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00\xff\xd9"


def webp(width: int = 9, height: int = 8) -> bytes:
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\x00\x00\x00\x00"
    body += (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", len(body)) + body


def given(data: bytes, media_type: str = "image/png", name: str = "") -> dict[str, Any]:
    """As POST …/messages takes it."""
    return {"media_type": media_type, "data": b64encode(data).decode(), "name": name}


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
