"""The page in German: as the browser asks, as the person sets it, and with every status that the server names."""

import re
from pathlib import Path

from playwright.async_api import Page, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import a_browser, a_page, at_the_page, violations
from support.distributions import install
from support.jobs import approved, plan, report, until, writing
from support.live_server import LiveServer, live_server
from support.raw_mcp_server import offered, raw_server
from support.scripted_model import HttpError, ScriptedModel, call
from support.spec import proves

GERMAN = """localStorage.setItem("anycowork.language", "de");"""
# Statuses and labels that the API has a code or a fixed name for, as its words would read in English.
ENGLISH = re.compile(
    r"\b(ready|not tested|no key|key refused|unreachable|default|failed|refused|denied|running|done|completed|cancelled|"
    r"paused|pending|skipped|waits|waiting|connected|restored|removed|forbidden by role|file missing|"
    r"reads and plans|carries out|changes nothing|chats and records|caches of|put aside|local models|allowed|answered)\b",
    re.IGNORECASE,
)
# The links whose words reach into their own padding.
_AT_THE_EDGE = """(list) => [...list.querySelectorAll("a")].filter((link) => {
  const words = document.createRange();
  words.selectNodeContents(link);
  return words.getBoundingClientRect().right > link.getBoundingClientRect().right - 9;
}).map((link) => link.textContent)"""
SETTINGS = (
    "models",
    "permissions",
    "agents",
    "mcp",
    "plugins",
    "skills",
    "limits",
    "appearance",
    "about",
    "api-keys",
    "workspaces",
)


@proves("UI-12")
async def test_the_page_speaks_german_when_the_person_asks_for_it_and_english_again(tmp_path):
    async with at_the_page(tmp_path, guide=True) as (page, _):
        await expect(page.get_by_role("heading", name="What do you want to get done?")).to_be_visible()
        await page.goto(page.url.split("#")[0] + "#/settings/appearance")
        await page.get_by_label("Language").select_option("de")
        await expect(page.get_by_role("heading", name="Darstellung")).to_be_visible()
        assert await page.evaluate("document.documentElement.lang") == "de"
        assert await page.get_by_role("navigation", name="Seiten der Einstellungen").evaluate(_AT_THE_EDGE) == []
        assert await violations(page) == []
        await page.goto(page.url.split("#")[0] + "#/")
        await expect(page.get_by_role("heading", name="Was möchten Sie erledigen?")).to_be_visible()
        await page.get_by_label("Nachricht", exact=True).fill("List the files")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Senden", exact=True)).to_be_visible()
        await page.goto(page.url.split("#")[0] + "#/settings/appearance")
        await page.get_by_label("Sprache").select_option("en")
        await expect(page.get_by_role("heading", name="Appearance")).to_be_visible()


@proves("UI-12")
async def test_no_status_of_the_server_reads_english_in_the_german_page(tmp_path: Path) -> None:
    install(tmp_path / "data" / "plugins", "words", "    tools = []\n")
    async with (
        ScriptedModel(["Hi."]) as good,
        ScriptedModel([HttpError(401)] * 3) as refusing,
        live_server(tmp_path, files={"a.md": "a\n"}, providers=providers(good, refusing), model="gut/m") as client,
        a_browser() as browser,
        a_page(browser, client.url, script=GERMAN) as page,
    ):
        for name in ("gut", "abgelehnt", "fort"):
            await client.ask("POST", f"/providers/{name}/test", {})
        for config in (raw_server(tmp_path / "near", [offered("sample")], name="nah"), BROKEN_SERVER):
            await client.ask("POST", "/mcp/servers", config, expect=201)
            await client.ask("POST", f"/mcp/servers/{config['name']}/connect", {})
        pages = [f"settings/{name}" for name in SETTINGS]
        pages += [f"chat/{await refused_calls(client, good)}", *await ended_jobs(client, good), "jobs", ""]
        found = {path: await english(page, f"{client.url}/#/{path}") for path in pages}
        assert {path: words for path, words in found.items() if words} == {}


BROKEN_SERVER = {"name": "kaputt", "command": "/bin/false", "args": []}


def providers(good: ScriptedModel, refusing: ScriptedModel) -> tuple[ProviderEntry, ...]:
    return (
        ProviderEntry(name="gut", base_url=good.base_url, models=("m",)),
        ProviderEntry(name="abgelehnt", base_url=refusing.base_url, models=("m",)),
        ProviderEntry(name="fort", base_url="http://127.0.0.1:9/v1", models=("m",)),
        ProviderEntry(name="neu", base_url="http://127.0.0.1:9/v1", models=("m",)),
        ProviderEntry(name="ohne", base_url="http://127.0.0.1:9/v1", models=("m",), api_key_env="NO_SUCH_VARIABLE"),
    )


async def refused_calls(client: LiveServer, model: ScriptedModel) -> str:
    """A chat in which a call is done, one fails, one is denied, one is refused, and the change is taken back."""
    model.replies[:] = [
        call("read_file", path="a.md"),
        call("read_file", path="b.md"),
        call("create_file", path="c.md", content="c"),
        "Fertig.",
        call("create_file", path="d.md", content="d"),
        "Fertig.",
        call("create_file", path="e.md", content="e"),
        "Fertig.",
    ]
    chat = await client.chat(role="actor", title="Aufrufe")
    await chat.send("los")
    await chat.decide("deny")
    await chat.send("und nun")
    await chat.decide()
    before, *_ = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
    await client.ask("POST", f"{chat.path}/snapshots/{before['id']}/restore", {})
    await chat.switch("planner")
    await chat.send("noch einmal")
    return chat.id


async def ended_jobs(client: LiveServer, model: ScriptedModel) -> list[str]:
    model.replies[:] = [call("create_file", path="x.txt", content="x"), report("Geschrieben."), "Fertig.", "Fertig."]
    chat = await client.chat(role="actor", title="Auftrag")
    job = await approved(client, chat, plan=plan(writing("x"), writing("y", "x")))
    await until(client, chat, job["id"], "completed", "failed", "paused", "awaiting_commit")
    return [f"jobs/{job['id']}", f"chat/{chat.id}"]


async def english(page: Page, address: str) -> list[str]:
    """The English status words that can be read there, without what people and programs wrote."""
    await page.goto(address)
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("lang", "de")
    await expect(page.get_by_role("heading").first).to_be_visible()
    await page.wait_for_function(AT_REST)
    for closed in await page.get_by_role("log").locator("button[aria-expanded=false]").all():
        await closed.click()
    shown = await page.evaluate(READABLE)
    return sorted({found.group() for found in ENGLISH.finditer(shown)})


# Nothing is added for thirty frames: what was asked for is there.
AT_REST = """async () => {
  const before = document.body.textContent;
  for (let frame = 0; frame < 30; frame += 1) await new Promise(requestAnimationFrame);
  return before === document.body.textContent && !document.querySelector("[aria-busy]");
}"""
# Code is the same in every language; what the page cannot word itself is marked as English.
READABLE = """() => {
  const copy = document.getElementById("root").cloneNode(true);
  copy.querySelectorAll("code, pre, [lang=en]").forEach((part) => part.remove());
  return copy.innerText || copy.textContent;
}"""
