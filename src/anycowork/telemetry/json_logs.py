"""Structured logs: one JSON object in each line, with the ids of request, chat and turn."""

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

from anycowork.domain.log_context import log_fields
from anycowork.domain.times import written_time

HIDDEN = "***"


class JsonLineFormatter(logging.Formatter):
    """`secrets` are written as stars, wherever they stand."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        super().__init__()
        self._secrets = tuple(filter(None, secrets))

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
        return json.dumps({name: self._without_secrets(text) for name, text in line.items()})

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


@contextmanager
def json_logs(level: str, secrets: Sequence[str], stream: TextIO | None = None) -> Iterator[None]:
    """Writes the log of this process as JSON to stderr, until the block ends."""
    root, handler = logging.getLogger(), logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLineFormatter(secrets))
    before = root.level
    root.addHandler(handler)
    root.setLevel(level.upper())
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
