"""The log of this process on stderr: plain lines, or one JSON object in each line with the ids of request, chat and turn."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

from anycowork.domain.log_context import log_fields
from anycowork.domain.times import written_time
from anycowork.telemetry.log_secrets import LogSecrets

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
