"""Proves a mechanism by its absence: with it an attack fails, and with that one thing switched off the same attack succeeds."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

Off = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mechanism:
    """`attack` tries it in a folder of its own and says whether it succeeded; `off` takes the mechanism out of the real code."""

    name: str
    attack: Callable[[Path], Awaitable[bool]]
    off: Off

    def __str__(self) -> str:
        return self.name


def without(room: object, name: str, instead: object) -> Off:
    return lambda patch: patch.setattr(room, name, instead)


async def require_needed(mechanism: Mechanism, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, open_ = folder / "held", folder / "open"
    held.mkdir()
    open_.mkdir()
    assert not await mechanism.attack(held), "the mechanism does not hold"
    with monkeypatch.context() as patched:
        mechanism.off(patched)
        assert await mechanism.attack(open_), "the attack fails without the mechanism too: it proves nothing"
