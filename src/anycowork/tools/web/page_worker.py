"""The child process that turns a web page or PDF into text: its standard input is the response's body, its standard output one JSON
object. It trusts nothing in the page, and limits itself as `pdf_worker` does.

`files/worker_host.py` forks it, with the arguments CONTENT_TYPE, CONTENT_ENCODING, ADDRESS and the most bytes of text.
"""

import io
import json
import re
import sys
import zlib
from email.message import Message
from typing import BinaryIO

from anycowork.files.pdf_worker import limit_this_process, read_pdf

UNPACKED = 20 << 20
_DEEPEST = 400  # elements inside each other
_PIECE = 1 << 16
_HTML = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = ("json", "xml", "javascript", "x-ndjson", "toml", "yaml")
_META = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
# Characters that nobody sees: direction marks, zero widths without those that join letters, and tags, which can spell out sentences.
_UNSEEN = dict.fromkeys(
    (*range(9), 11, *range(14, 32), *range(127, 160), 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2065),
     *range(0x2066, 0x2070), 0xFEFF, *range(0xE0000, 0xE0080))
)  # fmt: skip


class Unreadable(Exception):
    """Completes a sentence about the page."""


def load() -> None:
    """Loads what nearly every page needs, before any is read."""
    import html_to_markdown  # noqa: F401


def main() -> int:
    content_type, encoding, address, most_bytes = sys.argv[1:5]
    limit_this_process()
    try:
        body = unpacked(sys.stdin.buffer, encoding)
        if body[:1024].lstrip().startswith(b"%PDF-"):
            from pypdf import PdfReader  # the larger of the two libraries: few pages need it

            answer = read_pdf(PdfReader, io.BytesIO(body), int(most_bytes))
        else:
            answer = read_page(body, content_type, address)
    except Unreadable as fault:
        answer = {"fault": str(fault)}
    except MemoryError:
        answer = {"fault": "needs too much memory"}
    except Exception as error:  # noqa: BLE001  # a hostile page can make the libraries raise anything
        answer = {"fault": "could not be turned into text", "detail": type(error).__name__}
    sys.stdout.write(json.dumps(_bounded(answer, int(most_bytes)), ensure_ascii=False))
    return 0


def unpacked(stream: BinaryIO, encoding: str) -> bytes:
    """Returns the body without its compression. Raises: Unreadable if it grows too large."""
    codings = [coding for coding in encoding.lower().replace(" ", "").split(",") if coding not in ("", "identity")]
    if len(codings) > 1 or any(coding not in ("gzip", "x-gzip", "deflate") for coding in codings):
        raise Unreadable(f"is packed as '{encoding[:40]}', which is not unpacked here")
    if not codings:
        return stream.read(UNPACKED)
    unpacker, body = zlib.decompressobj(_GZIP_OR_ZLIB), bytearray()
    while (packed := unpacker.unconsumed_tail or stream.read(_PIECE)) and not unpacker.eof:
        try:
            body += unpacker.decompress(packed, _PIECE)
        except zlib.error:
            raise Unreadable("is packed, and its packing is damaged") from None
        if len(body) > UNPACKED:
            raise Unreadable(f"unpacks to more than {UNPACKED >> 20} MB")
    if not unpacker.eof:
        raise Unreadable("is packed, and its packing is damaged")
    return bytes(body)


def read_page(body: bytes, content_type: str, address: str) -> dict[str, object]:
    header = Message()
    header["content-type"] = content_type or "text/html"
    kind = header.get_content_type()
    if kind not in _HTML:
        if not _is_text(kind) or b"\0" in body[:_PIECE]:
            raise Unreadable(f"is {kind[:80]}, not text")
        return {"text": _decoded(body, header.get_content_charset())}
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(
        skip_images=True, hidden_content="drop", extract_metadata=False, max_depth=_DEEPEST, base_url=address
    )
    meta = _META.search(body[:4096])
    charset = header.get_content_charset() or (meta[1].decode() if meta else None)
    return {"text": convert(_decoded(body, charset), options).content or ""}


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.rpartition("/")[2].rpartition("+")[2] in _TEXT_TYPES


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _bounded(answer: dict[str, object], most_bytes: int) -> dict[str, object]:
    """Returns the answer with visible text alone, cut to the most bytes."""
    text = answer.get("text")
    if not isinstance(text, str):
        return answer
    clean = text.translate(_UNSEEN).encode("utf-8", "replace")
    shortened = clean[:most_bytes].decode("utf-8", "ignore").strip()
    return {**answer, "text": shortened, "cut": len(clean) > most_bytes}
