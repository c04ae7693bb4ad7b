"""Every test here runs once for each store, and knows only the ports."""

from pathlib import Path

import pytest

from support.postgres import postgres
from support.store_factories import FACTORIES, OpenStore

__all__ = ["postgres"]


@pytest.fixture(params=FACTORIES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    return FACTORIES[request.param](request, tmp_path)
