"""What a line of the log is about: the request, chat and turn that the running task works for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_FIELDS: ContextVar[Mapping[str, str]] = ContextVar("log_fields")
_NOTHING: Mapping[str, str] = {}


def log_fields() -> Mapping[str, str]:
    return _FIELDS.get(_NOTHING)


@contextmanager
def with_log_fields(**fields: str | None) -> Iterator[None]:
    """Adds ids to the lines that are logged in this block, and by tasks that are started in it."""
    known = {name: text for name, text in fields.items() if text is not None}
    token = _FIELDS.set({**log_fields(), **known})
    try:
        yield
    finally:
        _FIELDS.reset(token)
