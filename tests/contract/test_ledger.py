"""Any store: the usage of client keys per day."""

from anycowork.domain.metering import DailyUsage, KeyLimits
from anycowork.domain.principals import Principal, PrincipalKind
from support.store_factories import OpenStore

KEY = Principal("k1", PrincipalKind.CLIENT_KEY, "editor")


DATE = "2026-11-15"


def used(prompt: int) -> DailyUsage:
    return DailyUsage("k1", DATE, requests=1, prompt=prompt, last_used_at=f"{DATE}T08:00:00Z")


async def test_a_day_is_found_again_with_the_limits_of_its_key(open_store: OpenStore) -> None:
    limits = KeyLimits(requests_per_minute=3, spend_per_day=7)
    async with open_store() as database:
        await database.principals.add(KEY, key_hash="h", limits=limits)
        database.ledger.changed(used(5))
    async with open_store() as database:
        account = await database.ledger.account("k1", DATE)
        assert (account.limits, account.today) == (limits, used(5))
        assert (await database.ledger.account("k1", "2026-11-16")).today == DailyUsage("k1", "2026-11-16")
        assert (await database.principals.all())[0].limits == limits
