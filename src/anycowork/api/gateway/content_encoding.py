"""Decodes a body with `Content-Encoding` for inspection only: the original bytes are forwarded."""

import zlib

from anycowork.domain.errors import RequestFault, TooLarge

OPENED = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB, _BARE = 47, -15


class UnknownEncoding(RequestFault):
    """Who should answer cannot be read, so it is not sent to anyone: it might be for another provider than the default one."""

    code = "unknown_encoding"
    status = 415


def decompressed(body: bytes, encodings: str, *, max_bytes: int) -> bytes:
    """As plain bytes, or none of them if it is damaged. Raises: UnknownEncoding, TooLarge if it is larger than any body may be."""
    encoding_names = [name for word in encodings.lower().split(",") if (name := word.strip()) not in ("", "identity")]
    for name in encoding_names:
        if name not in OPENED:
            raise UnknownEncoding(
                f"A body in the encoding '{name[:40]}' cannot be read here, so nobody knows which model it is for. "
                f"Send it plain, or as {OPENED[0]}.",
                param="content-encoding",
            )
    for _ in encoding_names:
        body = _opened(body, max_bytes)
    return body


def _opened(body: bytes, max_bytes: int) -> bytes:
    for form in (_GZIP_OR_ZLIB, _BARE):  # some call it deflate with its wrapping, some without
        try:
            return _inflated(body, form, max_bytes)
        except zlib.error:
            continue
    return b""


def _inflated(body: bytes, form: int, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    remaining = max_bytes
    while body:  # a gzip file may be several, one after the other
        opening = zlib.decompressobj(wbits=form)
        part = opening.decompress(body, remaining + 1)
        remaining -= len(part)
        if remaining < 0:
            raise TooLarge(f"The body is larger than {max_bytes} bytes once it is unpacked. Send less.")
        parts.append(part)
        body = opening.unused_data
        if not opening.eof:
            break
    return b"".join(parts)
