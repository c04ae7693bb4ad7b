"""Diagrams in a real browser: drawn in a frame of their own, and inert whatever a model writes into them."""

import asyncio
import re
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Frame, Page, expect

from e2e.browsing import at_the_page, start_chat, violations
from support.scripted_model import Reply
from support.spec import proves

GOOD = "Here it is:\n\n```mermaid\nflowchart LR\n  A[Read the sensor] --> B{Is it new?}\n  B -->|yes| C[Write a report]\n```\n\nThe end."
SCRIPT, ELSEWHERE = "javascript:top.hacked=1", "http://127.0.0.1:9/"
LOOSE = f"""%%{{init: {{"securityLevel": "loose", "htmlLabels": true, "flowchart": {{"htmlLabels": true}},
  "themeCSS": "* {{ background: url({ELSEWHERE}x) }}"}}}}%%"""
HOSTILE = {
    "html": f"""flowchart LR
  A["<img src=x onerror='top.hacked=1'>"] --> B["<script>top.hacked=1</script><iframe src={ELSEWHERE}></iframe>"]""",
    "clicks": f'''flowchart LR
  A --> B --> C
  click A href "{SCRIPT}" _top
  click B call alert("x")
  click C "{ELSEWHERE}" _top''',
    "settings": f"""{LOOSE}
flowchart LR
  A["<a href='{SCRIPT}'>x</a>"] --> B""",
    "links": f'''sequenceDiagram
  participant Alice
  link Alice: Bank @ {SCRIPT}
  links Alice: {{"Bank": "{ELSEWHERE}"}}
  Alice->>Bob: hi''',
    "styles": f"""flowchart LR
  A --> B
  style A fill:url({ELSEWHERE}x)
  classDef c fill:url({ELSEWHERE}y)
  class B c""",
}
ARMED = """[...document.querySelectorAll("*")].flatMap((element) => [
  ...(["foreignObject", "iframe", "image", "img", "object"].includes(element.localName) ? [element.localName] : []),
  ...[...element.attributes]
    .filter(({ name, value }) => name.startsWith("on") || (/href|src/.test(name) && !/^(#|.assets.diagram-)/.test(value)))
    .map(({ name, value }) => `${name}=${value}`),
])"""
TRIES = {
    "the page's document": "parent.document.title",
    "the page's address": "void (top.location.href = 'about:blank')",
    "the settings": "fetch('/settings').then((answer) => answer.text())",
    "its cookies": "document.cookie",
    "its storage": "localStorage.length",
    "a window": "(() => { if (!open('about:blank')) throw new Error('blocked'); })()",
    "code from text": "new Promise((done, failed) => setTimeout(() => { try { done(eval('1')); } catch (error) { failed(error); } }))",
}


async def test_a_diagram_is_drawn_and_its_source_is_one_press_away(tmp_path):
    async with at_the_page(tmp_path, replies=[GOOD]) as (page, _):
        await start_chat(page, "draw it")
        frame = page.frame_locator("iframe[title=Diagram]")
        await expect(frame.locator("svg")).to_contain_text("Write a report")
        assert await violations(page) == []
        await page.get_by_role("button", name="Source").click()
        await expect(page.get_by_label("mermaid code")).to_contain_text("A[Read the sensor]")


async def test_a_diagram_that_streams_in_is_drawn_once(tmp_path):
    rest = asyncio.Event()
    start, end = GOOD.split("The end.")[0], "The end."
    async with at_the_page(tmp_path, replies=[Reply(chunks=[start + "Soon. ", end], hold=rest)]) as (page, _):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(urlsplit(request.url).path))
        await start_chat(page, "draw it")
        await expect(page.frame_locator("iframe[title=Diagram]").locator("svg")).to_contain_text("Write a report")
        rest.set()
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        await expect(page.get_by_text("Soon. The end.")).to_be_visible()
        await expect(page.frame_locator("iframe[title=Diagram]").locator("svg")).to_contain_text("Write a report")
        assert asked.count("/assets/diagram.html") == 1


async def test_a_diagram_that_cannot_be_drawn_is_shown_as_its_source(tmp_path):
    async with at_the_page(tmp_path, replies=["```mermaid\nflowchart LR\n  A -->\n```"]) as (page, _):
        await start_chat(page, "draw it")
        await expect(page.get_by_text("This diagram could not be drawn.")).to_be_visible()
        await expect(page.get_by_label("mermaid code")).to_contain_text("flowchart LR")


@proves("SEC-3")
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_diagram_runs_nothing_loads_nothing_and_leads_nowhere(tmp_path, name):
    async with at_the_page(tmp_path, replies=[f"```mermaid\n{HOSTILE[name]}\n```\n\nThe end."]) as (page, client):
        await page.route("**/assets/diagram.html", lambda route: route.abort())  # the victim is another
        await start_chat(page, "draw it")
        await expect(
            page.get_by_role("button", name="Send", exact=True)
        ).to_be_visible()  # the answer is whole, and drawn once
        victim, hosts = await page.context.new_page(), set()
        victim.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        await victim.goto(page.url)
        drawn = victim.locator("iframe[data-drawn=true]").or_(victim.get_by_text("could not be drawn"))
        await expect(drawn).to_be_visible()
        for frame in [await each.content_frame() for each in await victim.locator("iframe").element_handles()]:
            assert frame is not None
            assert await frame.evaluate(ARMED) == []
            for node in await frame.locator("svg .node, svg .actor").all():
                await node.click(force=True)
        assert await victim.evaluate("window.hacked") is None
        assert victim.url == page.url and len(page.context.pages) == 2
        assert hosts == {urlsplit(client.url).netloc}


@proves("SEC-3")
async def test_a_script_in_the_frame_reaches_nothing_of_the_page_or_the_server(tmp_path):
    async with at_the_page(tmp_path, replies=[GOOD]) as (page, _):
        await start_chat(page, "draw it")
        await expect(
            page.get_by_role("button", name="Send", exact=True)
        ).to_be_visible()  # the answer is whole, and drawn once
        victim = await page.context.new_page()  # whose blocked attempts are no complaint
        await victim.goto(page.url)
        frame = await drawing_in(victim)
        for what, attempt in TRIES.items():
            outcome = await frame.evaluate(f"(async () => {attempt})().then(() => 'reached', () => 'blocked')")
            assert outcome == "blocked", f"the frame reached {what}"
        await expect(victim.get_by_text("The end.")).to_be_visible()
        assert victim.url == page.url


@proves("SEC-3")
async def test_the_frame_is_given_nothing_even_when_opened_by_itself(tmp_path):
    async with at_the_page(tmp_path) as (page, client):
        answer = await page.context.request.get(f"{client.url}/assets/diagram.html")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "sandbox allow-scripts" in policy
        assert not re.search("connect-src|img-src|allow-same-origin|unsafe-eval|http", policy)


async def drawing_in(page: Page) -> Frame:
    await expect(page.frame_locator("iframe[title=Diagram]").locator("svg")).to_be_visible()
    handle = await page.locator("iframe[title=Diagram]").element_handle()
    assert handle is not None
    frame = await handle.content_frame()
    assert frame is not None
    return frame
