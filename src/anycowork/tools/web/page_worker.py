"""The child process that turns a web page or PDF into text: its standard input is the response's body, its standard output the
answer. It trusts nothing in the page, and limits itself as `pdf_worker` does.

`files/worker_host.py` forks it, with the arguments CONTENT_TYPE, CONTENT_ENCODING, ADDRESS and the most bytes of text.
"""

import codecs
import io
import re
import sys
import zlib
from email.message import Message
from typing import BinaryIO

from anycowork.files.pdf_worker import limit_this_process, read_pdf
from anycowork.files.worker_host import write_answer
from anycowork.tools.web.html_page import markdown_of

UNPACKED = 20 << 20
_PIECE = 1 << 16
_HTML = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = ("json", "xml", "javascript", "x-ndjson", "toml", "yaml")
_META = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
# Codecs of Python that no page names: they unescape its words, or take a time that grows with the square of its length.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
# Characters that nobody sees: direction marks, fillers, variation selectors and tags, which can spell out sentences, and zero widths without
# those that join letters.
_UNSEEN_ASCII = bytes((*range(9), 11, *range(14, 32), 127))
# What begins them in UTF-8, and all of them that begin so.
_UNSEEN = (
    (b"\xc2", re.compile(rb"\xc2[\x80-\x9f\xad]")),
    (b"\xcd\x8f", re.compile(rb"\xcd\x8f")),
    (b"\xd8\x9c", re.compile(rb"\xd8\x9c")),
    (b"\xe1\x85", re.compile(rb"\xe1\x85[\x9f\xa0]")),
    (b"\xe1\x9e", re.compile(rb"\xe1\x9e[\xb4\xb5]")),
    (b"\xe1\xa0", re.compile(rb"\xe1\xa0[\x8b-\x8f]")),
    (b"\xe2\x80", re.compile(rb"\xe2\x80[\x8b\x8e\x8f\xaa-\xae]")),
    (b"\xe2\x81", re.compile(rb"\xe2\x81[\xa0-\xa4\xa6-\xaf]")),
    (b"\xe3\x85\xa4", re.compile(rb"\xe3\x85\xa4")),
    (b"\xef\xb8", re.compile(rb"\xef\xb8[\x80-\x8f]")),
    (b"\xef\xbb\xbf", re.compile(rb"\xef\xbb\xbf")),
    (b"\xef\xbe\xa0", re.compile(rb"\xef\xbe\xa0")),
    (b"\xef\xbf", re.compile(rb"\xef\xbf[\xb9-\xbb]")),
    (b"\xf0\x9b\xb2", re.compile(rb"\xf0\x9b\xb2[\xa0-\xa3]")),
    (b"\xf0\x9d\x85", re.compile(rb"\xf0\x9d\x85[\xb3-\xba]")),
    (b"\xf3\xa0", re.compile(rb"\xf3\xa0[\x80-\x87][\x80-\xbf]")),
)


class Unreadable(Exception):
    """Completes a sentence about the page."""


def main() -> int:
    content_type, encoding, address, most_bytes = sys.argv[1:5]
    limit_this_process()
    try:
        body = unpacked(sys.stdin.buffer, encoding)
        if body[:1024].lstrip().startswith(b"%PDF-"):
            from pypdf import PdfReader  # a large library: few pages need it

            answer = read_pdf(PdfReader, io.BytesIO(body), int(most_bytes))
        else:
            answer = read_page(body, content_type, address)
    except Unreadable as fault:
        answer = {"fault": str(fault)}
    except MemoryError:
        answer = {"fault": "needs too much memory"}
    except Exception as error:  # noqa: BLE001  # a hostile page can make the libraries raise anything
        answer = {"fault": "could not be turned into text", "detail": type(error).__name__}
    write_answer(sys.stdout.buffer, *_bounded(answer, int(most_bytes)))
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
    meta = _META.search(body[:4096])
    charset = header.get_content_charset() or (meta[1].decode() if meta else None)
    return {"text": markdown_of(_decoded(body, charset), address)}


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.rpartition("/")[2].rpartition("+")[2] in _TEXT_TYPES


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        is_known = codecs.lookup(charset or "utf-8").name not in _NO_CHARSETS
        return body.decode(charset or "utf-8" if is_known else "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def without_unseen(text: bytes) -> bytes:
    """Returns this UTF-8 without the characters that nobody sees. A table of characters would take ten times as long."""
    text = text.translate(None, _UNSEEN_ASCII)
    for lead, characters in _UNSEEN:
        if lead in text:
            text = characters.sub(b"", text)
    return text


def _bounded(answer: dict[str, object], most_bytes: int) -> tuple[dict[str, object], bytes | None]:
    """Returns the answer without its text, and the visible text alone, cut to the most bytes."""
    text = answer.pop("text", None)
    if not isinstance(text, str):
        return answer, None
    clean = without_unseen(text.encode("utf-8", "replace"))
    shortened = clean[:most_bytes] if len(clean) > most_bytes else clean
    return {**answer, "cut": len(clean) > most_bytes}, shortened.strip()
