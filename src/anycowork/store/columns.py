"""How a JSON value stands in a TEXT column."""

import msgspec

from anycowork.domain.messages import Json

_as_object = msgspec.json.Decoder(dict)


def packed(value: object) -> str:
    return msgspec.json.encode(value).decode()


def packed_or_null(value: object | None) -> str | None:
    return None if value is None else packed(value)


def unpacked(text: str | bytes) -> Json:
    found: Json = _as_object.decode(text)
    return found


def unpacked_or_none(text: str | bytes | None) -> Json | None:
    return None if text is None else unpacked(text)
