"""A real browser on the real server: Debian's Chromium, the page as it is shipped, and a line that can be cut.

`async with at_the_page(tmp_path, replies=[...]) as (page, client):` opens the page signed in.
"""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, Locator, Page, Request, async_playwright, expect
from playwright.async_api import Error as PlaywrightError

from anycowork.api.routes.page import has_web_ui
from support.live_server import TOKEN, LiveServer, live_server
from support.scripted_model import Script

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
TIMEOUT_MS = 120_000  # until something that should happen did not: says nothing of how fast it is
# Chromium builds the list below its address bar as pages, in a process for each context: more work than loading ours. Nobody types there.
# Of two `--disable-features` only the last counts, so the features that Playwright turns off are named again.
_NOT_NEEDED = ("WebUIOmniboxPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxAimPopup")
_OFF_BY_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)
# Chromium's own sandbox needs what containers and root do not give; the page under test is ours.
_ARGUMENTS = ("--no-sandbox", f"--disable-features={','.join(_OFF_BY_PLAYWRIGHT + _NOT_NEEDED)}")
DESKTOP, PHONE = {"width": 1280, "height": 820}, {"width": 390, "height": 844}

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

expect.set_options(timeout=TIMEOUT_MS)


@asynccontextmanager
async def at_the_page(
    tmp_path: Path,
    *,
    replies: Iterable[Script] = (),
    guide: bool = False,
    viewport: dict[str, int] = DESKTOP,
    dark: bool = False,
    **more: Any,
) -> AsyncIterator[tuple[Page, LiveServer]]:
    """Fails the test if the page logged an error or broke its content policy. With `guide` no model is configured at all."""
    settings = {"model": None, "providers": (), **more} if guide else more
    async with (
        live_server(tmp_path, replies=replies, **settings) as client,
        a_browser() as browser,
        a_page(browser, client.url, viewport=viewport, dark=dark) as page,
    ):
        yield page, client


@asynccontextmanager
async def a_browser(*args: str) -> AsyncIterator[Browser]:
    """The one that this loop's tests share, or, with arguments of its own or without `sharing_a_browser`, a new one."""
    if not args and (shared := _SHARED.get(asyncio.get_running_loop())):
        yield await shared.browser()
        return
    async with _launched(*args) as browser:
        yield browser


@asynccontextmanager
async def sharing_a_browser() -> AsyncIterator[None]:
    """Starting one takes longer than most of what is tried in it; a page has a context of its own, and so nothing of another's."""
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        _SHARED[loop] = _Shared(stack)
        try:
            yield
        finally:
            del _SHARED[loop]


class _Shared:
    """Started when it is first wanted, and again if it went down."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._browser: Browser | None = None

    async def browser(self) -> Browser:
        if self._browser is None or not self._browser.is_connected():
            self._browser = await self._stack.enter_async_context(_launched())
        return self._browser


_SHARED: dict[asyncio.AbstractEventLoop, _Shared] = {}


@asynccontextmanager
async def _launched(*args: str) -> AsyncIterator[Browser]:
    # Without the windows that nobody sees it needs two thirds of the time for a page.
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert chromium, "The browser tests need Chromium: sh scripts/browser.sh installs it, or says how."
    assert has_web_ui(), "The web UI is not built: make web"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=[*_ARGUMENTS, *args])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def a_page(
    browser: Browser, url: str, *, viewport: dict[str, int] = DESKTOP, dark: bool = False, script: str = ""
) -> AsyncIterator[Page]:
    """Signed in. A `script` runs in the page before its own."""
    context = await browser.new_context(
        viewport={"width": viewport["width"], "height": viewport["height"]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = await context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said.type, said.text) else None)
    unanswered: dict[Request, None] = {}
    page.on("request", lambda request: unanswered.setdefault(request))
    page.on("requestfinished", lambda request: unanswered.pop(request, None))
    page.on("requestfailed", lambda request: unanswered.pop(request, None))
    if script:
        await page.add_init_script(script)
    await page.goto(f"{url}/?token={TOKEN}")
    try:
        await page.locator("#root > :not(.late)").first.wait_for(
            state="attached"
        )  # not the note that the page is loading
        yield page
    except Exception as error:
        error.add_note(await _seen_at_the_end(page, complaints, unanswered))
        raise
    finally:
        await context.close()
    assert complaints == [], complaints


async def _seen_at_the_end(page: Page, complaints: list[str], unanswered: Iterable[Request]) -> str:
    """What a failed test needs to be understood: the page is gone afterwards."""
    waiting = [f"{request.method} {request.url}" for request in unanswered]
    try:
        text = await page.locator("body").inner_text(timeout=5_000)
    except PlaywrightError as error:
        text = f"(not readable: {error.message})"
    return f"At {page.url}\nErrors: {complaints}\nUnanswered: {waiting}\nText: {text[:1_500]!r}"


async def start_chat(page: Page, words: str, *, role: str = "Actor") -> None:
    """From the start page: the role, the words, Enter. The chat is there, and hears keys, when this returns."""
    chip = page.get_by_role("radio", name=role)
    async with asyncio.timeout(TIMEOUT_MS / 1000):
        while not await chip.is_checked():  # on a busy machine a click on a page that just came is lost now and then
            await chip.click()
            await page.wait_for_timeout(50)
    await page.get_by_label("Message", exact=True).fill(words)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/#/chat/**")
    await expect(page.get_by_role("log", name="Conversation")).to_be_attached()  # in a low window it has no height


async def look_at_usage(page: Page) -> None:
    """Beside the title, or at phone width in the menu."""
    used = re.compile("^Used in this chat")
    if page.viewport_size == PHONE:
        await page.get_by_role("button", name="More about this chat").click()
        await page.get_by_role("menuitem", name=used).click()
    else:
        await page.get_by_role("button", name=used).click()


async def hold_toasts(page: Page) -> None:
    """From now until the page is loaded again no toast goes by itself: how long the test takes to look at one does not matter."""
    await page.evaluate(
        "() => { const later = window.setTimeout;"
        " window.setTimeout = (act, ms, ...more) => later(act, ms >= 6_000 ? 3_600_000 : ms, ...more); }"
    )


async def decide_by_key(page: Page, key: str, *, there: bool = False) -> None:
    """Goes to what waits, unless the focus is `there`, and presses the key once letters decide."""
    if not there:
        await page.keyboard.press("Alt+a")
    await expect(page.locator("#approvals[data-decides-by-key]")).to_be_visible()
    await page.keyboard.press(key)


# What the colours of a screen decide. All other rules read what does not change with them: names, roles, order, sizes.
_COLOUR_RULES = ("color-contrast", "link-in-text-block")


async def violations_in_both_schemes(page: Page, *, first: Literal["light", "dark"] = "dark") -> list[str]:
    """What axe finds in one scheme, and what it says of the colours of the other, in which the page stays."""
    second: Literal["light", "dark"] = "light" if first == "dark" else "dark"
    await page.emulate_media(color_scheme=first, reduced_motion="reduce")
    faults = await violations(page)
    await page.emulate_media(color_scheme=second, reduced_motion="reduce")
    return faults + [f"{second}: {fault}" for fault in await violations(page, _COLOUR_RULES)]


async def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds on this screen, colours included; or what these of its rules find."""
    if not await page.evaluate("'axe' in window"):  # half a megabyte, once for a document
        await page.evaluate(AXE.read_text("utf-8"))
    await page.wait_for_function(_AT_REST)
    # Only these leave the page: handing over the whole report took a quarter of the time.
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = await page.evaluate("(options) => axe.run(document, options).then((all) => all.violations)", options)
    return [f"{each['id']}: {json.dumps([node['html'] for node in each['nodes']])[:600]}" for each in found]


# A row that has not found its height yet is hidden, and what it holds has no name for that moment.
_AT_REST = """async () => {
  for (let frame = 0; frame < 10; frame += 1) {
    if ([...document.querySelectorAll("[role=log] div")].some((row) => row.style.visibility === "hidden")) return false;
    await new Promise(requestAnimationFrame);
  }
  return true;
}"""


_OUTSIDE = """() => [...document.querySelectorAll("[role=menu], [role=dialog], [role=alertdialog], [role=listbox]")]
  .map((one) => [one.getAttribute("aria-label") ?? one.textContent.slice(0, 40), one.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.left < -1 || box.right > innerWidth + 1))
  .map(([name, box]) => `${name}: ${box.left} to ${box.right}`)"""


# A page of the settings scrolls in a box of its own: what is too wide there moves the box, and not the window.
_WIDE = """() => [...document.querySelectorAll("#settings-page")].filter((box) => box.scrollWidth > box.clientWidth)
  .flatMap((box) => [...box.querySelectorAll("*")]
    .filter((one) => one.getBoundingClientRect().right > box.getBoundingClientRect().right)
    .map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`))"""


async def fits(page: Page) -> None:
    """Nothing is wider than the window, nothing is too small for a thumb, and axe finds nothing, in light and dark."""
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wide = await page.evaluate(_WIDE)
    assert wide == [], wide
    outside = await page.evaluate(_OUTSIDE)
    assert outside == [], outside
    small = await page.evaluate(_SMALL)
    assert small == [], small
    assert await violations_in_both_schemes(page) == []


async def tab_to(page: Page, wanted: Locator) -> None:
    """By Tab alone, from where the focus is; what has the focus can be seen."""
    await expect(wanted).to_be_visible()
    for _ in range(120):
        await page.keyboard.press("Tab")
        if await wanted.evaluate("(it) => it === document.activeElement"):
            await expect(wanted).to_be_in_viewport()
            return
    raise AssertionError(f"Tab does not lead to {wanted}")


async def has_focus(page: Page) -> bool:
    """Whether something has it. When what had it goes away, the page gives it to a neighbour in the next frame."""
    await page.evaluate(DRAWN)
    return bool(await page.evaluate("document.activeElement !== document.body && document.activeElement !== null"))


# Controls that a thumb misses. The small ones beside a message are for seldom use.
_SMALL = """() => [...document.querySelectorAll("button, select, nav a, input:not([type=checkbox]):not([type=radio]), summary")]
  .filter((it) => it.checkVisibility() && !it.closest(".sr-only, .hidden"))
  .map((it) => [it, (it.closest("label") ?? it).getBoundingClientRect().height])
  .filter(([it, height]) => height < (it.closest("[role=log]") ? 24 : 36))
  .map(([it, height]) => `${it.getAttribute("aria-label") || it.textContent || it.id} ${height}`)"""


def _is_complaint(kind: str, words: str) -> bool:
    """A refused request is the browser's to log and the page's to show; what plain HTTP lacks is no fault of the page either."""
    return kind == "error" and not words.startswith(
        ("Failed to load resource", "The Cross-Origin-Opener-Policy header")
    )


class Line:
    """A TCP line between browser and server that can be cut in the middle of anything. `asked` are the paths that were read over it."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._open: set[asyncio.StreamWriter] = set()
        self._down = False
        self.asked: list[str] = []

    async def __aenter__(self) -> "Line":
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()

    def cut(self) -> None:
        self._down = True
        for writer in self._open:
            writer.transport.abort()

    def mend(self) -> None:
        self._down = False

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._down:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        self._open |= {writer, far_writer}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pour(reader, far_writer, self._note))
                tasks.create_task(_pour(far_reader, writer))
        finally:
            self._open -= {writer, far_writer}

    def _note(self, data: bytes) -> None:
        if data.startswith(b"GET "):
            self.asked.append(data.split(b" ", 2)[1].decode())


async def _pour(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: Callable[[bytes], None] = lambda _: None
) -> None:
    try:
        while data := await reader.read(65_536):
            note(data)
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # cut
    writer.transport.abort()


async def allow_all(page: Page, count: int) -> None:
    """Reads all that wait, to the end of each, and allows them together."""
    await page.get_by_role("button", name=f"Show all {count}").click()
    await read_all(page)
    await page.get_by_role("button", name=f"Allow all {count}").click()


async def read_all(page: Page, place: str = "#approvals") -> None:
    """Scrolls to both ends of everything there that must be seen before it is allowed."""
    for mark in await page.locator(f"{place} [data-seen-mark]").all():
        await mark.evaluate(
            "it => { it.scrollIntoView({block: 'center'});"
            " return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }"
        )
