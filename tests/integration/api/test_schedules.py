"""Schedules over HTTP: what a person may send, and what is said of what they may not."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from support.live_server import LiveServer, RequestRefused, live_server
from support.workflows import written

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
GREET = '+++\ndescription = "x"\n[[parameters]]\nname = "who"\n+++\n## Greet\n\nSay hello to {{who}}.\n'
HOURLY: Json = {"name": "Hourly", "cron": "0 * * * *", "workflow": "greet", "parameters": {"who": "Ann"}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveServer]:
    folder = tmp_path_factory.mktemp("schedules")
    written(folder, greet=GREET)
    async with live_server(folder) as client:
        yield client


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"at": "2099-01-01T00:00"}, "cron"),
        ({"cron": None}, "cron"),
        ({"cron": None, "at": "2020-01-01T00:00"}, "at"),
        ({"cron": "* * * * * *"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"time_zone": "Mars/Base"}, "time_zone"),
        ({"workflow": None}, "template"),
        ({"template": "review-and-fix"}, "template"),
        ({"workflow": "unknown"}, "workflow"),
        ({"workflow": None, "template": "unknown"}, "template"),
        ({"parameters": {}}, "parameters.who"),
        ({"parameters": {"who": "x" * 70_000}}, "parameters"),
        ({"role": "emperor"}, "role"),
        ({"context_id": "unknown"}, "context_id"),
        ({"context_id": "unknown", "workspace": "/"}, "context_id"),
        ({"workspace": "/nowhere"}, "workspace"),
        ({"limits": {"cost": 1e300}}, "limits.cost"),
        ({"missed": "never"}, "missed"),
        ({"name": " "}, "name"),
        ({"name": "x" * 200}, "name"),
        ({"name": None}, "name"),
    ],
)
async def test_bad_input_names_its_field(shared: LiveServer, change: Json, param: str) -> None:
    body = {name: value for name, value in {**HOURLY, **change}.items() if value is not None}
    async with shared.session.post(f"{shared.url}/schedules", json=body) as response:
        answer = await response.json()
    assert (response.status, answer["error"]["param"]) == (422, param), answer


async def test_changes_replace_alternatives_and_keep_the_rest(shared: LiveServer) -> None:
    schedule = await shared.ask("POST", "/schedules", HOURLY, expect=201)
    path = f"/schedules/{schedule['id']}"
    once = await shared.ask("PATCH", path, {"at": "2035-01-01T00:00", "time_zone": "Europe/Berlin"})
    assert (once["cron"], once["next_at"], once["name"]) == (None, "2034-12-31T23:00:00.000000Z", "Hourly")
    for body, param in (({"name": None}, "name"), ({"limits": None}, "limits"), ({"parameters": {}}, "parameters.who")):
        with pytest.raises(RequestRefused, match=f'422.*"{param}"'):
            await shared.ask("PATCH", path, body)
    other = await shared.ask("PATCH", path, {"template": "review-and-fix", "parameters": {"path": "a"}})
    assert (other["workflow"], other["template"]) == (None, "review-and-fix")
    stopped = await shared.ask("PATCH", path, {"enabled": False})
    assert stopped["next_at"] is None
    await shared.ask("DELETE", path, expect=204)
    for method in ("GET", "PATCH", "DELETE"):
        with pytest.raises(RequestRefused, match="404"):
            await shared.ask(method, path, {"enabled": True} if method == "PATCH" else None)
