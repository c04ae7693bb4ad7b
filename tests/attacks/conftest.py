from pathlib import Path

import pytest

from support.api_fixtures import client, house, migrated, model, rooms, slept, stranger, token, workspace
from support.hands import Bench

__all__ = ["client", "house", "migrated", "model", "rooms", "slept", "stranger", "token", "workspace"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    return Bench(root, outside)
