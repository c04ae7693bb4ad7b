"""Converts JSON values to and from TEXT columns."""

import msgspec

from anycowork.domain.messages import Json

_as_object = msgspec.json.Decoder(dict)


def to_json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def to_json_text_or_null(value: object | None) -> str | None:
    return None if value is None else to_json_text(value)


def from_json_text(text: str | bytes) -> Json:
    document: Json = _as_object.decode(text)
    return document


def from_json_text_or_none(text: str | bytes | None) -> Json | None:
    return None if text is None else from_json_text(text)
