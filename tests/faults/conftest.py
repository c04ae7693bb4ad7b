"""What all fault tests share: the loaded process that their servers are forked from."""

from collections.abc import Iterator

import pytest

from support.seed import Seed, planted
from support.typing_people import SOURCE


@pytest.fixture(scope="session")
def seed() -> Iterator[Seed]:
    with planted(source=SOURCE) as seed:
        yield seed
