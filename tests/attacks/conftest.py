"""What the attacks share. Every case of theirs is one named attempt; what proves the mechanisms is not counted."""

from pathlib import Path

import pytest

from anycowork.workspace.stage import Layer
from support.api_fixtures import client, house, migrated, model, rooms, slept, stranger, token, workspace
from support.attempts import holds_attempts
from support.hands import Bench

__all__ = ["client", "house", "migrated", "model", "rooms", "slept", "stranger", "token", "workspace"]


@pytest.fixture
def layer() -> Layer:
    """What a command writes into; tests that hold for both kinds ask for both."""
    return Layer.OVERLAY


@pytest.fixture
def bench(tmp_path: Path, layer: Layer) -> Bench:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    return Bench(root, outside, layer=layer)


def pytest_itemcollected(item: pytest.Item) -> None:
    if holds_attempts(item.path):
        item.user_properties.append(("attempt", item.name))
