"""Describes content that has no line diff so that a person can still judge it: size, hash, first and last lines. Pure."""

from hashlib import sha256

from anycowork.domain.visible_text import UntrustedText, visible

EDGE_LINES = 20
EDGE_BYTES = 8_000
_ODD_SHARE = 0.1
_ODD_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\x1b")) + b"\x7f"


def text_with_odd_bytes(data: bytes) -> str | None:
    """Returns the text of a file that is almost UTF-8, with each invalid byte as its number; None if most of it is not text.

    Content that begins like a script is always text: an interpreter would run its lines whatever is between them.
    """
    text = data.decode(errors="surrogateescape")
    if not data.startswith(b"#!"):
        odd = len(data) - len(data.translate(None, _ODD_BYTES)) + sum(map(_is_odd, text))
        if odd > len(data) * _ODD_SHARE:
            return None
    return text.translate(_BYTE_NUMBERS)


def summary(size: int, digest: str, head: bytes, tail: bytes) -> str:
    """Indents the lines, so that no line of the content looks like a part of the surrounding diff."""
    if not size:
        return _identity(size, digest)
    first, last = _edge(head)[:EDGE_LINES], _edge(tail)[-EDGE_LINES:]
    return _identity(size, digest) + "\n".join(["  first lines:", *first, "  last lines:", *last]) + "\n"


def summary_of(data: bytes, *, edges: bool = True) -> str:
    """Without `edges`, returns size and hash only: the bytes of an image mean nothing to a reader."""
    digest = sha256(data).hexdigest()
    return summary(len(data), digest, data[:EDGE_BYTES], data[-EDGE_BYTES:]) if edges else _identity(len(data), digest)


def _identity(size: int, digest: str) -> str:
    return f"  {size:,} bytes, sha256 {digest}\n"


def _edge(data: bytes) -> list[str]:
    text = data.decode(errors="surrogateescape").translate(_BYTE_NUMBERS)
    lines = text.split("\n")
    return [f"  | {visible(UntrustedText(line))}" for line in (lines[:-1] if lines[-1] == "" else lines)]


def _is_odd(character: str) -> bool:
    return "\udc80" <= character <= "\udcff"


_BYTE_NUMBERS = {0xDC00 + byte: f"⟨byte {byte:02X}⟩" for byte in range(0x80, 0x100)} | {0: "⟨byte 00⟩"}
