from pathlib import Path

import pytest

from anycowork.sandbox.layers.stage import Layer
from support.distributions import PluginBench


@pytest.fixture
def bench(tmp_path: Path, layer: Layer) -> PluginBench:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    return PluginBench(root, outside, layer=layer)
