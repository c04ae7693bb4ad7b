"""What the attacks share. Every case of theirs is one named attempt; what proves the mechanisms is not counted."""

import pytest

from support.api_fixtures import anonymous, client, migrated, model, server, services, sleeps, token, workspace
from support.attempts import HELD, Attempts, holds_attempts
from support.bench_fixtures import bench, layer

__all__ = [
    "anonymous",
    "bench",
    "client",
    "layer",
    "migrated",
    "model",
    "server",
    "services",
    "sleeps",
    "token",
    "workspace",
]


def pytest_itemcollected(item: pytest.Item) -> None:
    if holds_attempts(item.path):
        item.user_properties.append((HELD, item.name))


@pytest.fixture
def attempts(request: pytest.FixtureRequest) -> Attempts:
    """Makes many attempts in one test, each of which counts."""
    return Attempts(request.node)
