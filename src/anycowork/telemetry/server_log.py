"""The log of this process on stderr: plain lines, or one JSON object in each line with the ids of request, chat and turn."""

import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from itertools import chain
from typing import TextIO

from anycowork.domain.secret_values import TOKEN
from anycowork.domain.times import written_time

HIDDEN = "***"
SHORTEST = (
    8  # characters; a shorter secret may be an ordinary word, such as the key that a local server wants to be given
)

_AUTHORIZATION = re.compile(r"(?i)\b(bearer)\s{1,9}+[A-Za-z0-9._~+/=\-]{8,}+|\b(basic)\s{1,9}+[A-Za-z0-9+/]{16,}+=*+")
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^\s/@:]*+:[^\s/@]++(?=@)")

SecretSource = Callable[[], Iterable[str]]


class LogSecrets:
    """Knows secrets by value, asked anew for every line: keys are pasted and replaced while the server runs.

    People's tokens and client keys are stored as digests only, and a key may be pasted that is never kept: these are known by their shape.
    """

    def __init__(self, *values: str) -> None:
        self._sources: list[SecretSource] = [lambda: values]

    def add(self, source: SecretSource) -> None:
        """Adds a source. It is called on any thread and must not raise."""
        self._sources.append(source)

    def star_out(self, text: str) -> str:
        secrets = {secret.strip() for secret in chain.from_iterable(source() for source in self._sources)}
        for secret in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
            if len(secret) >= SHORTEST:
                text = text.replace(secret, HIDDEN)
        text = _PASSWORD_IN_URL.sub(HIDDEN, text)
        text = _AUTHORIZATION.sub(lambda match: f"{match[1] or match[2]} {HIDDEN}", text)
        return TOKEN.sub(HIDDEN, text)


_OURS = logging.getLogger("anycowork")
_USUAL_LEVELS = {"json": "info", "text": "warning"}  # a person at a terminal reads no line for each request


class JsonLineFormatter(logging.Formatter):
    def __init__(self, secrets: LogSecrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": written_time(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **log_fields(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: self._secrets.star_out(text) for name, text in line.items()})


class TextLineFormatter(logging.Formatter):
    def __init__(self, secrets: LogSecrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._secrets.star_out(f"{time} {record.levelname.lower()} {super().format(record)}")


@contextmanager
def server_log(log_format: str, level: str, secrets: LogSecrets, stream: TextIO | None = None) -> Iterator[None]:
    """Writes the log of this process to stderr until the block ends. `level` auto: info in JSON, warning in text."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLineFormatter(secrets) if log_format == "json" else TextLineFormatter(secrets))
    root = logging.getLogger()
    before = _OURS.level, root.level
    root.addHandler(handler)
    set_log_level(log_format, level)
    try:
        yield
    finally:
        root.removeHandler(handler)
        _OURS.setLevel(before[0])
        root.setLevel(before[1])


def set_log_level(log_format: str, level: str) -> None:
    """Applies a level at once. Libraries never log less than warnings: some write addresses and headers of requests, with keys in them."""
    chosen = logging.getLevelNamesMapping()[(_USUAL_LEVELS[log_format] if level == "auto" else level).upper()]
    _OURS.setLevel(chosen)
    logging.getLogger().setLevel(max(chosen, logging.WARNING))


_FIELDS: ContextVar[Mapping[str, str]] = ContextVar("log_fields")
_NOTHING: Mapping[str, str] = {}


def log_fields() -> Mapping[str, str]:
    return _FIELDS.get(_NOTHING)


class with_log_fields:  # used as a block, like a function of contextlib, at half its cost
    """Adds ids to the lines that are logged in this block, and by tasks that are started in it."""

    __slots__ = ("_fields", "_token")
    _token: Token[Mapping[str, str]]

    def __init__(self, **fields: str | None) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        added = {name: text for name, text in self._fields.items() if text is not None}
        self._token = _FIELDS.set({**log_fields(), **added})

    def __exit__(self, *_: object) -> None:
        _FIELDS.reset(self._token)
