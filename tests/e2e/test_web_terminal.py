"""The terminal below the chat in a real browser: what the agent's commands print, and the person's own, by keyboard and at phone width."""

import re
from pathlib import Path

from playwright.async_api import Page, expect

from e2e.browsing import PHONE, at_the_page, start_chat, violations
from support.scripted_model import call
from support.spec import proves

ALLOWED = {"tool": "execute_command", "resource": "*", "effect": "allow", "scope": "global"}
ESCAPES = "printf '\\033[31mred\\033[0m \\033]0;x\\007\\xe2\\x80\\xaeleft <img src=x onerror=boom()>\\n'"


async def type_command(page: Page, command: str) -> None:
    line = page.get_by_label("Your command")
    await expect(line).to_be_visible()
    await line.fill(command)
    await expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    await line.press("Enter")


@proves("UI-10")
async def test_the_terminal_shows_the_agents_commands_and_runs_the_persons_own(tmp_path: Path) -> None:
    replies = [call("execute_command", command="echo from the agent"), "Done."]
    async with at_the_page(tmp_path, replies=replies, files={"a.txt": "one\n"}) as (page, client):
        await client.ask("POST", "/rules", ALLOWED, expect=201)
        await start_chat(page, "Run it")
        await expect(page.get_by_text("Done.", exact=True)).to_be_visible()
        pane = page.get_by_role("region", name="Terminal")
        await page.get_by_role("button", name="Terminal", exact=True).click()
        await expect(page.get_by_label("Your command")).to_be_focused()
        await expect(pane.get_by_role("article").filter(has_text="Agent")).to_contain_text("from the agent")
        assert await violations(page) == []

        await type_command(page, "echo mine; echo more >> a.txt; exit 4")
        mine = pane.get_by_role("article").filter(has_text="echo mine")
        await expect(mine).to_contain_text("exit code 4")
        await expect(mine.locator("pre")).to_have_text("mine\n")
        note = page.get_by_role("note").filter(has_text="You ran")
        await expect(note).to_contain_text("(exit code 4, 1 file changed)")
        await expect(page.get_by_role("note")).to_have_count(1)  # the start and the end are one card

        await type_command(page, ESCAPES)
        shown = pane.get_by_role("article").filter(has_text="onerror").locator("pre")
        await expect(shown).to_have_text("red ⟨U+202E⟩left <img src=x onerror=boom()>\n")

        await type_command(page, "echo begun; sleep 600")
        running = pane.get_by_role("article").filter(has_text="sleep 600")
        await expect(running.locator("pre")).to_have_text("begun\n")
        await page.reload()
        await expect(page.get_by_role("button", name="Terminal", exact=True)).to_be_visible()
        await page.keyboard.press("Alt+T")
        await expect(running.locator("pre")).to_have_text("begun\n")
        await expect(page.get_by_role("button", name="Stop echo begun; sleep 600")).to_be_visible()
        line = page.get_by_label("Your command")
        await line.press("Control+c")
        await expect(running).to_contain_text("stopped")
        await expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
        await line.press("ArrowUp")
        await expect(line).to_have_value("echo begun; sleep 600")
        assert await violations(page) == []
        await line.press("Escape")
        await expect(pane).to_have_count(0)


@proves("UI-6")
async def test_the_terminal_works_at_phone_width_in_the_dark_and_says_where_commands_are_off(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=["Hello."], viewport=PHONE, dark=True, person_commands="off") as (page, _):
        await start_chat(page, "Hi")
        await expect(page.get_by_text("Hello.", exact=True)).to_be_visible()
        await page.get_by_role("button", name="More about this chat").click()
        await page.get_by_role("menuitem", name="Terminal").click()
        pane = page.get_by_role("region", name="Terminal")
        await expect(pane.get_by_text("switched off on this server")).to_be_visible()
        await expect(pane.get_by_text("No command has run in this chat yet.")).to_be_visible()
        await expect(page.get_by_label("Your command")).to_have_count(0)
        assert await violations(page) == []
        await page.get_by_role("button", name="Close the terminal").click()
        await expect(pane).to_have_count(0)


@proves("UI-13/1", "UI-13/2")
async def test_a_shell_in_the_page_takes_keys_survives_a_reload_and_is_left_by_keyboard(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=["Hello."], files={"a.txt": "one\n"}) as (page, client):
        await start_chat(page, "Hello")
        await page.get_by_role("button", name="Terminal", exact=True).click()
        await page.get_by_role("button", name="Open a shell").click()
        shell = page.locator(".xterm")
        await expect(shell).to_be_visible()
        await page.keyboard.type("echo more >> a.txt; echo do''ne; tty")
        await page.keyboard.press("Enter")
        await expect(shell).to_contain_text("done")
        await expect(shell).to_contain_text("/dev/pts/")
        await page.keyboard.type("printf '\\e[38;2;10;120;30mtr''ue\\e[0m \\e[30;44mre''ad\\e[0m\\n'")
        await page.keyboard.press("Enter")
        colours = {"true": "rgb(10, 120, 30)", "read": "rgb(201, 202, 204)"}  # of a program, and for contrast
        for word, colour in colours.items():
            await expect(shell.get_by_text(word, exact=True)).to_have_css("color", colour)
        assert await violations(page) == []
        await page.reload()
        await expect(page.get_by_role("button", name="Terminal", exact=True)).to_be_visible()
        await page.keyboard.press("Alt+T")
        await expect(shell).to_contain_text("done")
        await page.set_viewport_size(PHONE)
        await expect(shell).to_be_visible()
        assert await violations(page) == []
        await shell.click()
        await page.keyboard.type("cat")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Ctrl+C").click()  # a phone has no such key
        await page.keyboard.type("echo en''ded with $?")
        await page.keyboard.press("Enter")
        await expect(shell).to_contain_text("ended with 130")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.keyboard.press("Control+Shift+Escape")
        await expect(shell).to_have_count(0)
        await page.set_viewport_size({"width": 1280, "height": 800})
        await page.get_by_role("button", name="Terminal", exact=True).click()
        await page.get_by_role("button", name="End the shell").click()
        await expect(page.get_by_text("1 file changed")).to_be_visible()
        assert (client.workspace / "a.txt").read_text() == "one\nmore\n"


# What a file that somebody shows in the terminal may hold: a title, the clipboard, a link to a script, reports that would be typed, a new size.
HOSTILE = (
    "\\033]0;stolen title\\007\\033]2;stolen title\\007\\033]52;c;c3RvbGVu\\007\\033]52;c;?\\007"
    "\\033]8;;javascript:document.title=1\\033\\\\harmless\\033]8;;\\033\\\\"
    "\\033[21t\\033[8;200;400t\\033[3;0;0t\\033P$qm\\033\\\\\\005<img src=x onerror=document.title=1>\\n"
)
# Counts what would reach the clipboard, another window or a dialog.
WATCH = """() => {
  window.reached = [];
  for (const [owner, name] of [[navigator.clipboard ?? {}, "writeText"], [navigator.clipboard ?? {}, "readText"],
      [document, "execCommand"], [window, "open"], [window, "confirm"], [window, "moveTo"], [window, "resizeTo"]])
    owner[name] = (...words) => { window.reached.push([name, ...words]); };
}"""


@proves("UI-13/1")
async def test_nothing_that_is_printed_reaches_the_page_the_clipboard_or_the_keyboard(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, client):
        await start_chat(page, "Hello")
        await page.get_by_role("button", name="Terminal", exact=True).click()
        await page.get_by_role("button", name="Open a shell").click()
        shell = page.locator(".xterm")
        await expect(shell).to_be_visible()
        title, elements = await page.title(), await shell.locator("img, script, iframe").count()
        await page.evaluate(WATCH)
        (client.workspace / "show.sh").write_text(
            f"printf '{HOSTILE}'\nIFS= read -rs -t 2 typed\necho \"typed<$typed>\"; stty size\n"
        )
        await page.keyboard.type("echo rea''dy")
        await page.keyboard.press("Enter")
        await expect(shell).to_contain_text("ready")
        await page.keyboard.type("stty size; bash show.sh; echo sh''own")
        await page.keyboard.press("Enter")
        await expect(shell).to_contain_text("shown")
        await expect(shell).to_contain_text("harmless")
        await expect(shell).to_contain_text("typed<")
        shown = await shell.inner_text()
        assert "stolen" not in shown.partition("typed<")[2].partition(">")[0], "no report of the title is typed"
        link = await shell.locator(".xterm-rows span", has_text="harmless").first.bounding_box()
        assert link
        for _ in range(2):
            await page.mouse.move(link["x"] + 12, link["y"] + 6, steps=5)
            await page.mouse.click(link["x"] + 12, link["y"] + 6)
        assert await page.evaluate("window.reached") == []
        assert (await page.title(), await shell.locator("img, script, iframe").count()) == (title, elements)
        sizes = re.findall(r"^\d+ \d+$", shown, re.MULTILINE)
        assert len(set(sizes)) <= 1, "its size is the page's to choose"
