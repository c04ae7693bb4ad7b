"""Any store: a lease has one owner, an epoch that grows, and an end."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from anycowork.domain.errors import LeaseHeld
from anycowork.store.sql.workspaces import Leases
from support.store_factories import OpenStore


class MemoryLeases:
    """A second implementation of the port, without a database."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, int, float]] = {}

    async def take(self, workspace: str, *, owner: str, seconds: float) -> int:
        now = asyncio.get_running_loop().time()
        holder, epoch, end = self._rows.get(workspace, (owner, 0, now))
        if holder != owner and end > now:
            raise LeaseHeld(f"'{workspace}' is held by another server.")
        self._rows[workspace] = owner, epoch + 1, now + seconds
        return epoch + 1


@pytest.fixture(params=["store", "memory"])
async def leases(request: pytest.FixtureRequest, open_store: OpenStore) -> AsyncIterator[Leases]:
    if request.param == "memory":
        yield MemoryLeases()
        return
    async with open_store() as store:
        yield store.leases


async def test_each_taking_gives_the_next_epoch_per_workspace(leases: Leases) -> None:
    taken = [await leases.take("/w", owner="one", seconds=60) for _ in range(3)]
    assert taken == [1, 2, 3]
    assert await leases.take("/other", owner="one", seconds=60) == 1


async def test_another_owner_waits_until_the_lease_has_expired(leases: Leases) -> None:
    assert await leases.take("/w", owner="one", seconds=60) == 1
    with pytest.raises(LeaseHeld):
        await leases.take("/w", owner="two", seconds=60)
    assert await leases.take("/w", owner="one", seconds=0) == 2, "the owner keeps it, and gives it back by a short time"
    assert await leases.take("/w", owner="two", seconds=60) == 3
    with pytest.raises(LeaseHeld):
        await leases.take("/w", owner="one", seconds=60)


async def test_a_refused_taking_changes_nothing(leases: Leases) -> None:
    await leases.take("/w", owner="one", seconds=60)
    for _ in range(2):
        with pytest.raises(LeaseHeld):
            await leases.take("/w", owner="two", seconds=0)
    assert await leases.take("/w", owner="one", seconds=60) == 2
