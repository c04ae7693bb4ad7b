"""No syncs in a process of tests: they kill processes, not the machine, and what was written survives that. A sync waits for the disk,
and the other tests wait behind it. Processes that are watched at their syncs keep them (`support.syncwatch`)."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import pytest

from anycowork.store.sqlite import database

P = ParamSpec("P")
C = TypeVar("C", bound=sqlite3.Connection)


@contextmanager
def unsynced() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        _leave_out_syncs(patch)
        yield


def leave_out_syncs() -> None:
    """For the rest of this process."""
    _leave_out_syncs(pytest.MonkeyPatch())


def _leave_out_syncs(patch: pytest.MonkeyPatch) -> None:
    for name in ("fsync", "fdatasync"):
        patch.setattr(os, name, lambda fd: None)
    patch.setattr(database, "connect_to_write", _without_syncs(database.connect_to_write))


def _without_syncs(connect: Callable[P, C]) -> Callable[P, C]:
    @wraps(connect)
    def connect_without_syncs(*args: P.args, **kwargs: P.kwargs) -> C:
        connection = connect(*args, **kwargs)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    return connect_without_syncs
