"""Every test here runs once for each store, and knows only the ports."""

from pathlib import Path

import pytest

from support.store_factories import FACTORIES, OpenStore


@pytest.fixture(params=FACTORIES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    return FACTORIES[request.param](tmp_path)
