"""Does a chat of 5,000 messages open at once and stay smooth while an answer streams in, beside an empty animated page?

Frames and times are the browser's own, so they are wall clock: they say something only beside the empty page of the same round.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web
from playwright.async_api import Page

from anycowork.api.routes.page import has_web_ui
from anycowork.config.settings import ProviderEntry
from measuring import REPOSITORY, Ground, Leg, NotMeasured

sys.path.insert(0, str(REPOSITORY / "tests"))

from e2e.browsing import DESKTOP, a_browser, a_page  # the line above makes these importable
from support.live_server import LiveServer, live_server
from support.longchat import fill

QUESTION = "A chat of 5,000 messages in Chromium, with 200 tokens a second streaming into it"
MESSAGES, TOKENS_A_SECOND, SECONDS = 5_000, 200, 10
TIMEOUT_MS = 60_000
WORDS = (
    "The ",
    "report ",
    "{number} ",
    "is ",
    "written ",
    "as ",
    "**JSON** ",
    "now, ",
    "after `{number}` ",
    "hours.\n\n",
)
EMPTY = """<!doctype html><style>@keyframes turn { to { transform: rotate(1turn) } } i { display: block; width: 90px; height: 90px;
background: #369; animation: turn 1s linear infinite }</style><i></i><textarea id="composer"></textarea>"""

# When the newest message is there, counted from the beginning of the navigation.
READY = """
const look = () => {
  if (document.body?.innerText.includes(%s)) window.readyAt = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
# Frames as they come, and the time from a letter in the composer to the frame that shows it.
WATCH = """async (seconds) => {
  const field = document.getElementById("composer");
  const write = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;
  const frames = [], inputs = [];
  let nodes = 0, last = performance.now();
  const end = last + seconds * 1000;
  const type = () => {
    const began = performance.now();
    write.call(field, field.value.length > 40 ? "" : field.value + "x");
    field.dispatchEvent(new Event("input", { bubbles: true }));
    requestAnimationFrame(() => {
      const channel = new MessageChannel(); // its message comes after the frame was painted
      channel.port1.onmessage = () => inputs.push(performance.now() - began);
      channel.port2.postMessage(0);
    });
  };
  const typing = setInterval(type, 250);
  await new Promise((done) => {
    const frame = (now) => {
      frames.push(now - last);
      last = now;
      nodes = Math.max(nodes, document.getElementsByTagName("*").length);
      if (now < end) requestAnimationFrame(frame); else done();
    };
    requestAnimationFrame(frame);
  });
  clearInterval(typing);
  const p95 = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
  const fps = 1000 * (frames.length - 1) / frames.slice(1).reduce((sum, value) => sum + value, 0);
  return { fps, frame_p95_ms: p95(frames.slice(1)), input_p95_ms: p95(inputs), dom_nodes: nodes };
}"""


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {
        "chat": lambda: asyncio.run(_chat(ground)),
        "empty_page": lambda: asyncio.run(_empty_page()),
    }


async def _chat(ground: Ground) -> Mapping[str, float]:
    """Opened cold, then watched while an answer streams in."""
    _require_browser()
    newest = json.dumps(f"Number {MESSAGES - 1}:")
    with ground.fresh("long_chat") as folder:
        async with (
            _speaking() as address,
            live_server(folder, providers=(_entry(address),), model="steady/steady") as client,
            a_browser() as browser,
        ):
            chat = await client.chat(title="A long one")
            await fill(client.server, chat.id, MESSAGES)
            async with a_page(browser, client.url) as page:
                opened = await page.context.new_page()
                await opened.add_init_script(READY % newest)
                await opened.goto(f"{client.url}/#/chat/{chat.id}")
                await opened.wait_for_function("() => window.readyAt", timeout=TIMEOUT_MS)
                ready = await opened.evaluate("window.readyAt")
                return {"ready_ms": ready, **await _streaming(opened, client, chat.path)}


async def _streaming(page: Page, client: LiveServer, path: str) -> Mapping[str, float]:
    await client.ask("POST", f"{path}/messages", {"content": "Tell me everything."}, expect=202)
    await page.get_by_role("button", name="Stop").wait_for(timeout=TIMEOUT_MS)
    return await _watched(page)


async def _empty_page() -> Mapping[str, float]:
    """What this machine's browser can do at this moment."""
    _require_browser()
    async with a_browser() as browser:
        page = await browser.new_page(viewport={"width": DESKTOP["width"], "height": DESKTOP["height"]})
        await page.set_content(EMPTY)
        return await _watched(page)


async def _watched(page: Page) -> Mapping[str, float]:
    found = await page.evaluate(WATCH, SECONDS)
    return {name: float(value) for name, value in found.items()}


def _require_browser() -> None:
    if not has_web_ui():
        raise NotMeasured("the web UI is not built: make web")
    if not shutil.which("chromium"):
        raise NotMeasured("there is no Chromium: sh scripts/browser.sh")


def _entry(address: str) -> ProviderEntry:
    return ProviderEntry(name="steady", base_url=address, models=("steady",))


@asynccontextmanager
async def _speaking() -> AsyncIterator[str]:
    """A model that says so many tokens a second, for longer than anyone watches."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", _say)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def _say(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in range(TOKENS_A_SECOND * SECONDS * 3):
        delta = {"choices": [{"index": 0, "delta": {"content": _token(number)}, "finish_reason": None}]}
        try:
            await response.write(b"data: " + json.dumps(delta).encode() + b"\n\n")
        except ConnectionError:
            break  # whoever asked has seen enough
        await asyncio.sleep(max(0.0, began + number / TOKENS_A_SECOND - loop.time()))
    return response


def _token(number: int) -> str:
    """Never the same sentence twice: who repeats itself is stopped."""
    return WORDS[number % len(WORDS)].format(number=number * 7919)
