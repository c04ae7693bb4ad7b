"""What all fault tests share: the loaded process that their servers are forked from."""

import sys
from collections.abc import Iterator

import pytest

from support.seed import Seed, planted
from support.typing_people import SOURCE


@pytest.fixture(scope="session")
def seed() -> Iterator[Seed]:
    if sys.platform != "linux":
        pytest.skip("looks into /proc, and holds Linux system calls")
    with planted(source=SOURCE) as seed:
        yield seed
