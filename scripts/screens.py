"""Takes a picture of every screen with a scripted model behind it: light, dark and at phone width, into docs/screens/. `make screens` runs it.

Names take only those: `python scripts/screens.py images key-limits`.
"""

import asyncio
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from screen_people_walks import PEOPLE_WALKS
from screen_replies import FILES
from screen_server_walks import CALIBRATION, SERVER_WALKS, prepare_screen
from screen_walks import SCREENS, WALKS

from anycowork.config.settings import ProviderEntry
from e2e.browsing import DESKTOP, PHONE, at_the_page  # the lines above make these importable
from support.scripted_model import Script, ScriptedModel
from support.web_pages import page as web_page
from support.web_pages import web

ROOT = Path(__file__).resolve().parents[1]
# Where the clone lies on this machine is nobody's business, and another place would change the picture.
NEUTRAL = """(places) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    for (const [place, neutral] of places) texts.currentNode.data = texts.currentNode.data.replaceAll(place, neutral);
}"""
SHOWN_FOLDER = "/tmp/weather-station"
LOOKS = {"light": (DESKTOP, False), "dark": (DESKTOP, True), "phone": (PHONE, False)}


async def main(wanted: list[str]) -> int:
    """Returns 1 if a walk no longer fits the page; the other pictures are taken all the same."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in wanted or (*WALKS, *SERVER_WALKS, *PEOPLE_WALKS):
        try:
            for look in LOOKS:
                await _take(name, look)
        except Exception:  # noqa: BLE001  # whatever a walk meets, the next picture is taken
            failed = 1
            print(f"{name}: failed\n{traceback.format_exc()[-1500:]}", file=sys.stderr, flush=True)
        else:
            print(f"{name}: {', '.join(LOOKS)}", flush=True)
    return failed


async def _take(name: str, look: str) -> None:
    walk, replies = WALKS.get(name, (None, []))
    viewport, dark = LOOKS[look]
    with _empty_folder() as folder:
        async with (
            _answering(name, replies) as more,
            at_the_page(folder, files=FILES, viewport=viewport, dark=dark, **more, **prepare_screen(name, folder)) as (
                page,
                client,
            ),
        ):
            await (walk(page) if walk else (SERVER_WALKS | PEOPLE_WALKS)[name](page, client))
            await page.evaluate(NEUTRAL, [[str(ROOT), "/home/me/anycowork"], [str(folder), SHOWN_FOLDER]])
            await page.evaluate("document.fonts.ready")
            await page.wait_for_timeout(300)  # colours of code come a moment later
            await page.screenshot(path=SCREENS / f"{name}-{look}.png")


@asynccontextmanager
async def _answering(name: str, replies: list[Script]) -> AsyncIterator[dict[str, Any]]:
    """Who answers: the guide, a model that is known to see, or the scripted one."""
    if name in ("first-run", "connect"):
        yield {"guide": True}
    elif name == "images":
        async with ScriptedModel(replies) as model:
            seeing = ProviderEntry(name="openai", base_url=model.base_url, models=("gpt-4o",))
            yield {"providers": (seeing,), "model": "openai/gpt-4o"}
    elif name == "endorsement-page":
        async with web({"docs.sensors.example": web_page(CALIBRATION)}) as (network, _):
            yield {"outside": network}
    else:
        yield {"replies": replies}


@contextmanager
def _empty_folder() -> Iterator[Path]:
    """Nobody else's: a second run at the same time would bring its chats into the picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
        folder = Path(own, "weather-station")
        folder.mkdir()
        yield folder


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
