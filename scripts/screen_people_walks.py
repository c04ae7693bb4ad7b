"""The way to screens about when agents start, who is told, and what people may use. `screens.py` takes their pictures."""

import json

from playwright.async_api import Page, expect

from support.live_server import LiveServer
from support.scripted_model import Reply

MORNING = {
    "name": "Report of the night",
    "cron": "0 7 * * 1-5",
    "time_zone": "Europe/Berlin",
    "workflow": "explain_code",
    "parameters": {"path": "station/report.py"},
    "role": "planner",
}
ON_PUSH = {"name": "After a push", "workflow": "explain_code", "parameters": {"path": "config.toml"}}


async def schedules(page: Page, client: LiveServer) -> None:
    await client.ask("POST", "/schedules", MORNING, expect=201)
    await client.ask("POST", "/triggers", ON_PUSH, expect=201)
    await page.goto(f"{client.url}/#/settings/schedules")
    await expect(page.get_by_text("After a push").first).to_be_visible()


async def notifications(page: Page, client: LiveServer) -> None:
    target = {"kind": "webhook", "name": "Team chat", "url": "https://hooks.station.example/anycowork"}
    await client.ask("POST", "/notifications/targets", target, expect=201)
    await page.goto(f"{client.url}/#/settings/notifications")
    await expect(page.get_by_text("hooks.station.example").first).to_be_visible()


async def limits(page: Page, client: LiveServer) -> None:
    await _use_some(page, client)
    await page.goto(f"{client.url}/#/settings/usage")
    await page.get_by_role("heading", name="Limits per day").scroll_into_view_if_needed()
    await page.get_by_role("region", name="Limits per day").evaluate("(region) => region.scrollIntoView()")


async def own_limits(page: Page, client: LiveServer) -> None:
    """As a member sees them."""
    token = await _use_some(page, client)
    await page.context.clear_cookies()
    await page.goto("about:blank")
    await page.goto(f"{client.url}/#/settings/usage")
    await page.get_by_label("Paste your token").fill(token)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("region", name="You", exact=True)).to_be_visible()


async def _use_some(page: Page, client: LiveServer) -> str:
    """Lets Ada, who is in a group, use some tokens. Returns her token."""
    ada = await client.ask("POST", "/people", {"name": "Ada", "access": "member"}, expect=201)
    await client.ask("PATCH", f"/people/{ada['id']}", {"groups": ["design"]})
    limits = {"person": {"tokens_per_day": 100_000, "jobs": 2}, "group": {"design": {"tokens_per_day": 500_000}}}
    await client.ask("PUT", "/limits", limits)
    client.model.replies[:] = [Reply("May was dry.", usage={"prompt_tokens": 41_200, "completion_tokens": 900})]
    headers = {"Authorization": f"Bearer {ada['token']}", "Origin": client.url}
    opened = await client.ask("POST", "/context", {}, expect=201, headers=headers)
    await client.ask("POST", f"/context/{opened['id']}/messages", {"content": "Sum up May"}, headers=headers)
    await page.wait_for_timeout(1500)
    return str(ada["token"])


async def sign_in(page: Page, client: LiveServer) -> None:
    """Where people sign on with the provider of their organization."""
    await page.route("**/openid", lambda route: route.fulfill(body=json.dumps({"name": "Station accounts"})))
    await page.context.clear_cookies()
    await page.goto("about:blank")
    await page.goto(f"{client.url}/#/")
    await expect(page.get_by_text("Sign in with Station accounts")).to_be_visible()


PEOPLE_WALKS = {
    "schedules": schedules,
    "notifications": notifications,
    "limits": limits,
    "own-limits": own_limits,
    "sign-in": sign_in,
}
