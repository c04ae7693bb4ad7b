"""Client keys with limits, over real sockets: what is refused, what is counted, and what a restart or a crash cannot wipe out."""

import asyncio
import shutil
from dataclasses import dataclass, field, replace

import aiohttp
import aiohttp.web
import pytest

from anycowork.api.application import create_api
from anycowork.config.settings import PriceEntry, ProviderEntry
from anycowork.providers.config import ProviderConfig
from anycowork.server.clock import SystemClock
from support.asgi import Client
from support.live_server import LiveServer, live_server
from support.scripted_model import BreakOff, Hang, HttpError, Reply, ScriptedModel
from support.spec import proves
from support.stored import held

COMPLETIONS = "/v1/chat/completions"
USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 4},
}
SMALL = {"model": "scripted", "max_tokens": 30, "messages": []}  # 51 bytes on the wire: 13 tokens, and 30 to come


@pytest.fixture(autouse=True)
def migrated_data(tmp_path, migrated):
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated, tmp_path / "data")


@dataclass
class SetClock(SystemClock):
    """A clock that a test sets."""

    today: str = "2026-11-15"
    passed: float = 0.0
    ids: SystemClock = field(default_factory=SystemClock)

    def now(self) -> str:
        return f"{self.today}T23:59:00.000000Z"

    def monotonic(self) -> float:
        return self.passed

    def new_id(self) -> str:
        return self.ids.new_id()


class Program:
    """One program with its own key, and the owner who looks at the count."""

    def __init__(self, client: LiveServer, made: dict, app) -> None:
        self.client, self.made = client, made
        self.id = made["id"]
        self._client, self._owner = Client(app, token=made["key"]), client

    async def ask(self, body=SMALL, path=COMPLETIONS):
        return await self._client.post(path, body)

    async def shown(self) -> dict:
        keys = (await self._owner.ask("GET", "/keys"))["keys"]
        return next(key for key in keys if key["id"] == self.id)


async def program(client: LiveServer, clock=None, **limits) -> Program:
    made = await client.ask("POST", "/keys", {"name": "editor", "limits": limits}, expect=201)
    services = client.server.services
    return Program(client, made, create_api(replace(services, clock=clock or services.clock)))


@proves("GW-1")
async def test_a_key_without_limits_is_made_and_counted_as_before(tmp_path):
    async with live_server(tmp_path, replies=[Reply("Hi.", usage=USAGE)]) as client:
        made = await client.ask("POST", "/keys", {"name": "editor"}, expect=201)
        assert made["limits"] == {"requests_per_minute": None, "tokens_per_day": None, "spend_per_day": None}
        app = Program(client, made, create_api(client.server.services))
        assert (await app.ask()).status == 200
        shown = await app.shown()
    assert shown["last_used_at"] is not None and "key" not in shown
    assert (
        shown["today"]
        == shown["total"]
        == {
            "requests": 1,
            "prompt_tokens": 20,
            "completion_tokens": 30,
            "cached_tokens": 8,
            "reasoning_tokens": 4,
            "spend": 0.0,
            "estimated": 0.0,
            "unpriced_requests": 1,
        }
    )


@proves("GW-1")
@pytest.mark.parametrize(
    "limits",
    [
        {"requests_per_minute": 0},
        {"requests_per_minute": 1.5},
        {"tokens_per_day": -1},
        {"spend_per_day": 0},
        {"spend_per_day": "1"},
        {"tokens": 5},
    ],
)
async def test_limits_that_make_no_sense_are_refused(tmp_path, limits):
    async with live_server(tmp_path) as client:
        error = (await client.ask("POST", "/keys", {"name": "editor", "limits": limits}, expect=422))["error"]
        assert error["param"].startswith("limits.")
        assert (await client.ask("GET", "/keys"))["keys"] == []


@proves("GW-1")
async def test_too_many_requests_in_a_minute_are_told_when_to_return(tmp_path):
    async with live_server(tmp_path, replies=["a", "b", "c"]) as client:
        clock = SetClock()
        app = await program(client, clock, requests_per_minute=2)
        assert [(await app.ask()).status for _ in range(2)] == [200, 200]
        clock.passed = 20.5
        refused = await app.ask()
        assert (refused.status, refused.headers["retry-after"]) == (429, "40")
        assert (refused.error["code"], refused.error["type"]) == ("rate_limit_exceeded", "rate_limit_error")
        assert refused.error["param"] == "requests_per_minute" and "2 requests a minute" in refused.error["message"]
        assert "x-should-retry" not in refused.headers
        assert (await app.ask({}, "/v1/models")).status == 405
        assert (
            await Client(create_api(replace(client.server.services, clock=clock)), token=app.made["key"]).get(
                "/v1/models"
            )
        ).status == 200
        clock.passed = 60.5
        assert (await app.ask()).status == 200
        assert len(client.model.raw) == 3


@proves("GW-1")
async def test_a_day_that_is_used_up_lifts_at_midnight(tmp_path):
    async with live_server(tmp_path, replies=[Reply("a", usage=USAGE), Reply("b", usage=USAGE)]) as client:
        clock = SetClock()
        app = await program(client, clock, tokens_per_day=60)
        assert (await app.ask()).status == 200
        refused = await app.ask()
        assert (refused.status, refused.error["code"], refused.error["param"]) == (
            429,
            "insufficient_quota",
            "tokens_per_day",
        )
        assert (refused.headers["retry-after"], refused.headers["x-should-retry"]) == ("61", "false")
        for word in ("'editor'", "60 tokens a day", "may take 43 tokens, 10 tokens are left", "2026-11-16 00:00 UTC"):
            assert word in refused.error["message"]
        clock.today = "2026-11-16"
        assert (await app.ask()).status == 200
        assert len(client.model.raw) == 2


PRICED = {"scripted": PriceEntry(input=1000, output=1000, cached=500)}


def priced(model_url: str = "") -> dict:
    return {"name": "scripted", "base_url": model_url, "models": ("scripted",), "prices": PRICED}


@proves("GW-1")
async def test_spend_is_counted_by_the_prices_of_the_settings_and_limited(tmp_path):
    async with ScriptedModel([Reply("a", usage=USAGE)] * 3) as model:
        entry = ProviderEntry(**priced(model.base_url))
        async with live_server(tmp_path, providers=(entry,)) as client:
            app = await program(client, spend_per_day=0.1)
            assert app.made["limits"]["spend_per_day"] == 0.1 and app.made["hint"] is None
            assert (await app.ask()).status == 200
            shown = await app.shown()
            assert shown["today"]["spend"] == pytest.approx((12 + 8 * 0.5 + 30) / 1000)
            assert (await app.ask()).status == 200
            refused = await app.ask()
            assert (refused.status, refused.error["param"]) == (429, "spend_per_day")
            assert "$0.1 a day" in refused.error["message"] and "$0.008 are left" in refused.error["message"]
            assert len(model.raw) == 2


@proves("GW-1")
async def test_without_a_price_tokens_are_counted_and_that_is_said(tmp_path):
    async with live_server(tmp_path, replies=[Reply("a", usage=USAGE)]) as client:
        app = await program(client, spend_per_day=0.000001)
        assert "prices" in app.made["hint"]
        assert (await app.ask()).status == 200
        shown = await app.shown()
    assert (shown["today"]["spend"], shown["today"]["unpriced_requests"]) == (0.0, 1)
    assert shown["today"]["completion_tokens"] == 30 and "counted in tokens" in shown["hint"]


@proves("GW-1")
async def test_64_requests_at_once_never_take_more_than_the_limit(tmp_path):
    """All of them are inside before any is answered: only reservations can hold them back."""
    async with live_server(tmp_path) as client:
        app, hold, refusals = await program(client, tokens_per_day=450), asyncio.Event(), asyncio.Semaphore(0)
        client.model.mind = lambda body: Reply(chunks=["a", "b"], usage=USAGE, hold=hold)

        async def ask():
            answer = await app.ask({**SMALL, "stream": True})
            refusals.release()
            return answer

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(ask()) for _ in range(64)]
            for _ in range(64 - 9):
                await refusals.acquire()
            await client.model.asked(9)
            hold.set()
        statuses = [task.result().status for task in asked]
        refused = next(task.result() for task in asked if task.result().status == 429)
        shown = await app.shown()
    assert statuses.count(200) * 47 <= 450 < (statuses.count(200) + 1) * 47  # 17 to send, 30 to come
    assert statuses.count(200) == len(client.model.raw) == shown["today"]["requests"]
    assert (refused.headers["retry-after"], refused.error["code"]) == ("1", "rate_limit_exceeded")


@proves("GW-1")
@pytest.mark.parametrize(
    ("reply", "body", "tokens", "estimated"),
    [
        (Reply("Hi.", usage=USAGE), {"stream": True, "stream_options": {"include_usage": True}}, 50, 0.0),
        (Reply(chunks=["a"] * 12), {"stream": True}, None, 1.0),
        (BreakOff("Good day to you"), {"stream": True}, None, 1.0),
        (HttpError(400), {}, 0, 0.0),
        (HttpError(500, "<html>"), {}, 0, 0.0),
    ],
    ids=["streamed usage", "stream without usage", "broken off", "refused", "failed"],
)
async def test_every_way_an_answer_can_end_is_counted_once(tmp_path, reply, body, tokens, estimated):
    async with live_server(tmp_path, replies=[reply]) as client:
        app = await program(client)
        await app.ask({**SMALL, **body})
        today = (await app.shown())["today"]
        assert (today["requests"], today["estimated"]) == (1, estimated)
        counted = today["prompt_tokens"] + today["completion_tokens"]
        assert counted == tokens if tokens is not None else counted > 12
        reserved = (await client.server.database.ledger.account(app.id, today_of(client))).today.reserved
        assert reserved == 0


def today_of(client: LiveServer) -> str:
    return client.server.services.clock.now()[:10]


@proves("GW-1")
@pytest.mark.parametrize("hang", [Hang(headers=False), Hang("Good d")], ids=["before the answer", "in its middle"])
async def test_a_client_that_leaves_is_counted_as_an_estimate(tmp_path, hang):
    async with live_server(tmp_path, replies=[hang]) as client:
        app = await program(client)
        headers = {"Authorization": f"Bearer {app.made['key']}"}
        async with asyncio.timeout(60), aiohttp.ClientSession(headers=headers) as session:
            async with asyncio.TaskGroup() as tasks:
                asking = tasks.create_task(read_all(session, client.url + COMPLETIONS))
                await client.model.asked(1)
                asking.cancel()
            await client.model.deserted()
        today = (await app.shown())["today"]
    assert (today["requests"], today["estimated"]) == (1, 1.0)
    assert today["prompt_tokens"] + today["completion_tokens"] > 0


async def read_all(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.post(url, json={**SMALL, "stream": True}) as response:
        return await response.read()


@proves("GW-1")
async def test_a_provider_that_is_down_costs_nothing(tmp_path):
    async with live_server(tmp_path) as client:
        client.server.providers.put(ProviderConfig("down", base_url="http://127.0.0.1:9/v1", models=("down",)))
        app = await program(client, tokens_per_day=100)
        assert [(await app.ask({**SMALL, "model": "down"})).status for _ in range(3)] == [502] * 3
        assert (await app.shown())["today"]["prompt_tokens"] == 0


@proves("GW-1")
async def test_what_was_used_today_still_counts_after_a_restart(tmp_path):
    async with live_server(tmp_path, replies=[Reply("a", usage=USAGE)]) as client:
        app = await program(client, tokens_per_day=60)
        assert (await app.ask()).status == 200
    async with live_server(tmp_path) as client:
        again = Program(client, app.made, create_api(client.server.services))
        assert (await again.ask()).status == 429
        shown = await again.shown()
        assert (shown["today"]["requests"], shown["limits"]["tokens_per_day"]) == (1, 60)
        assert client.model.raw == []


@proves("GW-1")
async def test_the_counts_of_days_are_added_up(tmp_path):
    async with live_server(tmp_path, replies=[Reply("a", usage=USAGE)] * 2) as client:
        clock = SetClock(today="2026-11-14")
        app = await program(client, clock)
        await app.ask()
        clock.today = today_of(client)
        await app.ask()
        shown = await app.shown()
    assert (shown["total"]["requests"], shown["total"]["completion_tokens"]) == (2, 60)
    assert shown["today"]["requests"] == 1 and shown["last_used_at"][:10] == clock.today


@proves("GW-1")
async def test_counting_holds_up_no_byte(tmp_path):
    """While the store cannot write at all, answers pass as ever."""
    async with live_server(tmp_path, replies=["a", "b", "c"]) as client:
        app = await program(client, tokens_per_day=10_000)
        with held(client.server.database.writer):
            assert [(await app.ask()).status for _ in range(3)] == [200, 200, 200]
        assert (await app.shown())["today"]["requests"] == 3


@proves("GW-1")
async def test_the_owner_is_not_counted(tmp_path):
    async with live_server(tmp_path, replies=["a"]) as client:
        app = await program(client, requests_per_minute=1)
        await client.ask("POST", COMPLETIONS, SMALL)
        assert (await app.shown())["total"]["requests"] == 0
