"""A client of ours against a scripted model, with waits that take no time."""

from collections.abc import AsyncIterator

import pytest

from anycowork.providers.http.http1 import HttpPool


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    pool = HttpPool()
    yield pool
    await pool.aclose()
