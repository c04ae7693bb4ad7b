"""Pytest's fixtures of a bench: hands on a workspace, with a folder outside it that they must not reach."""

from pathlib import Path

import pytest

from anycowork.sandbox.layers.stage import Layer
from support.tool_workspace import ToolWorkspace


@pytest.fixture
def layer() -> Layer:
    """What a command writes into; tests that hold for both kinds ask for both."""
    return Layer.OVERLAY


@pytest.fixture
def bench(tmp_path: Path, layer: Layer) -> ToolWorkspace:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    return ToolWorkspace(root, outside, layer=layer)
