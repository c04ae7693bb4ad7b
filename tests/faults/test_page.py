"""The page in a real browser while its server is killed and started again where it was: nothing is lost, nothing is shown twice."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from playwright.async_api import Page, expect

from e2e.browsing import a_browser, a_page, start_chat
from support.fork_server import ForkServer
from support.live_server import Caller, LiveChat
from support.ports import held_port
from support.scripted_model import Hang, Script, call, serve_in_thread
from support.server import ChildServer, child_server
from support.spec import proves

AWAY = "The server does not answer. Reconnecting"
TALL = {"width": 1280, "height": 2400}  # so that every row is on the page: those far out of sight are not drawn
DELTAS = ("text-delta", "reasoning-delta")

# Notes each event that the page reads from a chat's stream, on the way to the page's own reader.
EAR = """
delete window.SharedWorker;
window.heard = [];
const asked = window.fetch;
window.fetch = async (...wanted) => {
  const answer = await asked(...wanted);
  const url = String(wanted[0]?.url ?? wanted[0]);
  if (!/context\\/[^/]+\\/events/.test(url) || !answer.body) return answer;
  const [mine, theirs] = answer.body.tee();
  (async () => {
    let rest = "";
    for await (const piece of mine.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + piece).split("\\n\\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const id = /^id: (\\d+)$/m.exec(block), name = /^event: (.+)$/m.exec(block);
        if (id && name) window.heard.push([Number(id[1]), name[1]]);
      }
    }
  })().catch(() => {});
  return new Response(theirs, answer);
};
"""

SHOWS = """(rows) => {
  const shown = [...document.querySelectorAll("[id^=row-]")].map((row) => row.id);
  return JSON.stringify(shown) === JSON.stringify(rows);
}"""


@proves("UI-6", "EVT-2", "OPS-2")
async def test_the_page_comes_back_by_itself_after_its_server_was_killed(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    replies = ["First.", call("create_file", path="a.txt", content="a"), "Second."]
    with a_server(fork_server, tmp_path, replies) as server:
        async with a_reader(server) as (page, client):
            await start_chat(page, "one")
            await expect(page.get_by_text("First.")).to_be_visible()
            await kill_and_start(server, page)
            await page.get_by_label("Message", exact=True).fill("two")
            await page.keyboard.press("Enter")
            await expect(page.get_by_label("Approvals")).to_contain_text("a.txt")
            await kill_and_start(server, page)
            await page.get_by_role("button", name="Allow once").click()
            await expect(page.get_by_text("Second.")).to_be_visible()
            assert (server.workspace / "a.txt").read_text() == "a"
            await everything_is_there_once(page, client)


@proves("UI-6", "EVT-2", "OPS-2")
async def test_an_answer_cut_off_by_a_kill_keeps_its_words_and_says_that_it_was_interrupted(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    with a_server(fork_server, tmp_path, [Hang(words), "Here again."]) as server:
        async with a_reader(server) as (page, client):
            await start_chat(page, "say it")
            await expect(page.get_by_text("word50 ")).to_be_visible()
            await until_durable(client, words)
            await kill_and_start(server, page)
            await expect(page.get_by_text("The server ended during this turn. Continue it")).to_be_visible()
            await expect(page.get_by_text("The agent was interrupted.")).to_be_attached()
            await expect(page.locator(".prose")).to_have_text(words)
            await page.get_by_label("Message", exact=True).fill("go on")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("Here again.")).to_be_visible()
            events = await everything_is_there_once(page, client)
            assert [event["reason"] for event in events if event["type"] == "turn-ended"] == ["interrupted", "answered"]


@contextmanager
def a_server(fork_server: ForkServer, tmp_path: Path, replies: list[Script]) -> Iterator[ChildServer]:
    with (
        serve_in_thread(replies) as model,
        held_port() as port,
        child_server(fork_server, tmp_path, model_url=model.base_url, port=port) as server,
    ):
        yield server


@asynccontextmanager
async def a_reader(server: ChildServer) -> AsyncIterator[tuple[Page, Caller]]:
    """A person at the page, whose events are counted, and one who asks the server itself."""
    async with (
        server.connect() as client,
        a_browser() as browser,
        a_page(browser, server.url, viewport=TALL, script=EAR) as page,
    ):
        yield page, client


async def kill_and_start(server: ChildServer, page: Page) -> None:
    """The page says that it is alone, and by itself that it no longer is."""
    port = server.port
    server.kill()
    await expect(page.get_by_text(AWAY)).to_be_visible()
    server.start(port=port)
    await expect(page.get_by_text(AWAY)).to_be_hidden()


async def until_durable(client: Caller, words: str) -> None:
    """What is shown reaches the disk a tenth of a second later. A reader who comes when all was said sees when it has: only the first of
    these two may be told while it is said."""
    [listed] = (await client.ask("GET", "/context"))["contexts"]
    for _ in ("said", "stored"):
        async for event in LiveChat(client, listed).follow():
            if event["type"] == "text-delta" and event["offset"] + len(event["text"]) >= len(words):
                break


async def everything_is_there_once(page: Page, client: Caller) -> list[dict[str, object]]:
    """Every message is on the page once, and every event but the deltas was read exactly once, in order. The chat's events."""
    [listed] = (await client.ask("GET", "/context"))["contexts"]
    chat = LiveChat(client, listed)
    events = await chat.events()
    await page.wait_for_function("last => window.heard.at(-1)[0] >= last", arg=events[-1]["seq"])
    results = {message["id"] for message in await chat.of_type("tool_result")}
    rows = [f"row-{message['id']}" for message in await chat.messages() if message["id"] not in results]
    await page.wait_for_function(SHOWS, arg=rows)
    heard = [tuple(each) for each in await page.evaluate("window.heard")]
    numbers = [number for number, _ in heard]
    assert numbers == sorted(set(numbers)), "an event came twice, or late"
    first = numbers[0]  # before it, the page read the messages themselves
    assert [each for each in heard if each[1] not in DELTAS] == [
        (event["seq"], event["type"]) for event in events if event["seq"] >= first and event["type"] not in DELTAS
    ]
    return events
