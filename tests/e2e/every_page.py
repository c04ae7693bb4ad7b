"""The addresses of every page of the web UI, with something on each."""

import json
import re

from playwright.async_api import Page, expect

from e2e.browsing import ROOT, start_chat
from support.jobs import plan, report, writing
from support.live_server import LiveServer
from support.scripted_model import call

SETTINGS = re.findall(r'^ +(?:{ )?id: "([\w-]+)"', (ROOT / "web/src/setup/pages.tsx").read_text("utf-8"), re.MULTILINE)
PLAN = json.dumps({"type": "plan", **plan(writing("a"))})
REPLIES = (PLAN, call("create_file", path="a.txt", content="a\n"), report("a.txt is there"), "It is written.")


async def addresses(page: Page, client: LiveServer) -> list[str]:
    """Fills the server, whose model has `REPLIES`, and returns the addresses."""
    await client.ask("POST", "/people", {"name": "Ada", "access": "member"})
    await client.ask(
        "POST", "/rules", {"tool": "run_command", "resource": "make *", "effect": "allow", "scope": "global"}
    )
    await start_chat(page, "plan a file", role="Planner")
    chat = page.url
    await page.get_by_role("button", name="Run as a job").click()
    await expect(page.get_by_text("It is written.")).to_be_visible()
    [job] = (await client.ask("GET", "/jobs"))["jobs"]
    pages = ["#/", chat[chat.index("#") :], "#/jobs", f"#/jobs/{job['id']}", f"#/jobs/{job['id']}/a"]
    return pages + [f"#/settings/{part}" for part in SETTINGS]
