from pathlib import Path

import pytest

from support.hands import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    return Bench(root, outside)
