"""Connecting a model, autonomy and git by keyboard alone and at phone width. One server for all; a chat names its model, else the guide answers."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import decide_by_key, fits, has_focus, hold_toasts, tab_to, violations
from support.git_commands import git
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import HttpError, ScriptedModel, call
from support.spec import proves

KEY = "sk-pasted-0123456789abcdef"
GITCONFIG = "[user]\n\tname = A Person\n\temail = person@example.org\n"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveServer]:
    folder = tmp_path_factory.mktemp("everyday")
    (folder / ".gitconfig").write_text(GITCONFIG)
    async with ScriptedModel() as model:
        scripted = ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",))
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("HOME", str(folder))
            async with live_server(folder, providers=(scripted,), model="guide") as server:
                server.model = model
                yield server


async def new_chat(client: LiveServer, **given: object) -> LiveChat:
    return await client.chat(role="actor", model="scripted/scripted", **given)


@proves("MOD-1", "MOD-2", "UI-6")
async def test_a_model_is_connected_tested_and_chosen_by_keyboard_alone(page: Page, client: LiveServer) -> None:
    async with ScriptedModel([HttpError(401), "OK", "Hello!"], models=("small", "large")) as office:
        await tab_to(page, page.get_by_role("button", name="Connect a model"))
        await page.keyboard.press("Enter")
        form = page.get_by_role("dialog", name="Connect a model")
        await expect(form.get_by_role("combobox", name="Server")).to_be_visible()
        await tab_to(page, form.get_by_role("combobox", name="Server"))
        await page.keyboard.type("Another")
        await expect(form.get_by_label("Address")).to_have_value("")
        for label, words in (("API key", KEY), ("Address", office.base_url), ("Name", "office"), ("Models", "small")):
            await tab_to(page, form.get_by_label(re.compile(f"^{label}")))
            await page.keyboard.type(words)
        await tab_to(page, form.get_by_role("button", name="Connect and test"))
        await page.keyboard.press("Enter")
        await expect(form.get_by_text("refused the key")).to_be_visible()  # at its field
        test = form.get_by_role("button", name="Connect and test")
        await expect(test).to_be_focused()  # who corrects the key and who tries again both go on from here
        assert await violations(page) == []
        await page.keyboard.press("Enter")
        await expect(form).to_have_count(0)
        await expect(page.get_by_text("office is connected and answered")).to_be_visible()
        assert await has_focus(page)
        await choose_model(page, "office small", "office/small")
        await tab_to(page, page.get_by_label("Message", exact=True))
        await page.keyboard.type("Good day")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Hello!", exact=True)).to_be_visible()
        assert office.headers[-1]["Authorization"] == f"Bearer {KEY}"
        assert KEY not in await page.content()
        await client.ask("DELETE", "/providers/office")


async def choose_model(page: Page, words: str, model: str) -> None:
    button = page.get_by_role("button", name="Model: ")
    await page.locator("#main").focus()
    await tab_to(page, button)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("combobox", name="Search models")).to_be_focused()
    await page.keyboard.type(words)
    await expect(page.get_by_role("option", name=model)).to_be_visible()
    await expect(page.get_by_text("Asking the servers for their models")).to_have_count(0)
    await page.keyboard.press("Enter")
    await expect(button).to_have_accessible_name(f"Model: {model}")
    await expect(button).to_be_focused()


@proves("APR-9", "UI-6")
async def test_autonomy_is_offered_after_three_approvals_and_chosen_by_keyboard_alone(
    page: Page, client: LiveServer
) -> None:
    chat = await three_changes(client, page)
    await decide_by_key(page, "y")
    await expect(page.get_by_text("Three.", exact=True)).to_be_visible()
    offer = page.get_by_role("button", name="Switch to Edits")
    await tab_to(page, offer)
    assert await violations(page) == []
    await page.keyboard.press("Enter")
    header = page.get_by_role("button", name=re.compile("^Autonomy: "))
    await expect(header).to_have_accessible_name("Autonomy: Edits. Change")
    await expect(offer).to_have_count(0)
    assert await has_focus(page)
    await page.locator("#main").focus()
    await tab_to(page, header)
    await page.keyboard.press("Enter")
    sandboxed = page.get_by_role("menuitemradio", name=re.compile("^Sandboxed"))
    await expect(sandboxed).to_be_visible()
    full = (await client.ask("GET", "/settings"))["sandbox"]["level"] == "full"
    level = "Sandboxed" if full else "Ask"
    if not full:
        await expect(sandboxed).to_be_disabled()
    await page.keyboard.type(level)
    await expect(page.get_by_role("menuitemradio", name=re.compile(f"^{level}"))).to_be_focused()
    assert await violations(page) == []
    await page.keyboard.press("Enter")
    await expect(header).to_have_accessible_name(f"Autonomy: {level}. Change")
    await expect(header).to_be_focused()
    await page.keyboard.press("Alt+m")
    await expect(header).to_have_accessible_name(f"Autonomy: {'Ask' if full else 'Edits'}. Change")
    assert (await chat.show())["config"]["autonomy"] == ("ask" if full else "edits")


@proves("APR-9", "UI-6")
async def test_autonomy_is_offered_declined_and_chosen_at_phone_width(phone: Page, client: LiveServer) -> None:
    chat = await three_changes(client, phone)
    await phone.get_by_role("button", name="Allow once").click()
    await expect(phone.get_by_text("Three.", exact=True)).to_be_visible()
    offer = phone.get_by_role("region", name="Autonomy: Edits?")
    await expect(offer.get_by_role("button", name="Switch to Edits")).to_be_in_viewport()
    await fits(phone)
    await offer.get_by_role("button", name="Not now").click()
    await expect(offer).to_have_count(0)
    await phone.get_by_role("button", name="More about this chat").click()
    edits = phone.get_by_role("menuitemradio", name=re.compile("^Edits"))
    await expect(edits).to_be_in_viewport(ratio=1)
    await fits(phone)
    await edits.click()
    header = phone.get_by_role("button", name="Autonomy: Edits. Change")
    await header.click()
    await fits(phone)
    await phone.get_by_role("menuitemradio", name=re.compile("^Ask")).click()
    await expect(header).to_have_count(0)
    assert (await chat.show())["config"]["autonomy"] == "ask"


async def three_changes(client: LiveServer, page: Page) -> LiveChat:
    """A chat where two of three changes were allowed, and the third waits, open in the page."""
    changes = [call("create_file", path=f"{name}.txt", content="1\n") for name in ("one", "two", "three")]
    client.model.replies[:] = [*changes, "Three."]
    chat = await new_chat(client)
    for file in client.workspace.glob("*.txt"):
        file.unlink()
    await chat.send("Write three files")
    await chat.decide()
    await chat.decide()
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    await expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    return chat


@proves("UI-6", "UI-10")
async def test_changes_are_read_committed_and_branched_by_keyboard_alone(
    page: Page, client: LiveServer, tmp_path: Path
) -> None:
    folder = await repository(client, page, tmp_path / "keys")
    await page.locator("#main").focus()
    await page.keyboard.press("Alt+f")
    await tab_to(page, page.get_by_role("tab", name="Files"))
    for part in ("Changes", "Git"):
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_role("tab", name=part)).to_be_focused()
    branch = page.get_by_role("region", name="Branch")
    await expect(branch).to_contain_text("main")
    await tab_to(page, page.get_by_role("button", name="New branch"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Name of the new branch")).to_be_focused()
    await page.keyboard.type("lion")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Create")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(branch).to_contain_text("lion")
    await expect(page.get_by_label("Name of the new branch")).to_have_count(0)
    assert await has_focus(page)
    await tab_to(page, page.get_by_label("Include b.md in the commit"))
    await expect(page.get_by_label("Include b.md in the commit")).not_to_be_checked()
    await page.keyboard.press("Space")
    await tab_to(page, page.get_by_role("button", name="b.md not tracked"))
    await page.keyboard.press("Shift+Tab")  # past the box
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Shift+Tab")
    await expect(page.get_by_role("button", name="a.md changed")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("tabpanel")).to_contain_text("# Lion")
    await tab_to(page, page.get_by_label("Commit message"))
    await expect(page.get_by_label("Commit message")).to_have_value("")  # the chat changed none of these files
    await page.keyboard.type("Rename the animal by hand")
    assert await violations(page) == []
    await tab_to(page, page.get_by_role("button", name="Commit 2 files"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Committed 2 files.")).to_be_visible()
    await expect(page.get_by_label("Include a.md in the commit")).to_have_count(0)
    assert await has_focus(page)
    assert git(folder, "log", "-1", "--format=%D|%an|%s") == "HEAD -> lion|A Person|Rename the animal by hand\n"
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("complementary", name="Files")).to_have_count(0)
    assert await has_focus(page)


@proves("UI-6", "UI-10")
async def test_changes_are_read_committed_and_branched_at_phone_width(
    phone: Page, client: LiveServer, tmp_path: Path
) -> None:
    folder = await repository(client, phone, tmp_path / "a-folder-with-a-name-that-is-longer-than-a-phone-is-wide")
    await phone.get_by_role("button", name="More about this chat").click()
    await phone.get_by_role("menuitem", name="Files and changes").click()
    await phone.get_by_role("tab", name="Git").click()
    await expect(phone.get_by_role("region", name="Branch")).to_contain_text("main")
    await phone.get_by_role("button", name="a.md changed").click()
    await expect(phone.get_by_role("tabpanel")).to_contain_text("# Lion")
    await fits(phone)
    await phone.get_by_role("button", name="New branch").click()
    await phone.get_by_label("Name of the new branch").fill("lion")
    await fits(phone)
    await phone.get_by_role("button", name="Create").click()
    await expect(phone.get_by_role("region", name="Branch")).to_contain_text("lion")
    await phone.get_by_label("Commit message").fill("Rename the animal")
    await phone.get_by_label("Include b.md in the commit").check()
    commit = phone.get_by_role("button", name="Commit 2 files")
    await commit.scroll_into_view_if_needed()
    await commit.click()
    await expect(phone.get_by_text("Nothing differs from the last commit.")).to_be_visible()
    await fits(phone)
    assert git(folder, "log", "-1", "--format=%D|%an|%s") == "HEAD -> lion|A Person|Rename the animal\n"


@proves("UI-6", "UI-10")
async def test_on_a_phone_a_toast_covers_no_tab_heading_or_button_of_the_files(
    phone: Page, client: LiveServer, tmp_path: Path
) -> None:
    await repository(client, phone, tmp_path / "toasts")
    await phone.get_by_role("button", name="More about this chat").click()
    await phone.get_by_role("menuitem", name="Files and changes").click()
    await phone.get_by_role("tab", name="Git").click()
    await phone.get_by_label("Commit message").fill("Rename the animal")
    await hold_toasts(phone)
    await phone.get_by_role("button", name="Commit 1 file").click()
    toast = phone.get_by_role("status").filter(has_text="Committed 1 file.")
    await expect(toast).to_be_visible()
    assert await phone.evaluate(COVERED) == []
    await expect(phone.get_by_role("tab", name="Git")).to_be_in_viewport(ratio=1)
    await fits(phone)


# What can be seen of each tab, heading, button and field of the pane, and lies under what a toast says.
COVERED = """() => {
  const toasts = [...document.querySelectorAll("[role=status] > div")].map((toast) => toast.getBoundingClientRect());
  if (toasts.length === 0) return ["no toast is shown"];
  const panel = document.querySelector("[role=tabpanel]").getBoundingClientRect();
  const parts = [...document.querySelectorAll("#files-pane :is(button, h2, strong, input, textarea, code)")];
  return parts.filter((part) => !part.closest("[role=status]")).filter((part) => {
    const box = part.getBoundingClientRect();
    const inPanel = part.closest("[role=tabpanel]") !== null;
    const bottom = inPanel ? Math.min(box.bottom, panel.bottom) : box.bottom;
    return toasts.some((one) => box.left < one.right && box.right > one.left && box.top < one.bottom && bottom > one.top);
  }).map((part) => part.textContent || part.ariaLabel);
}"""


async def repository(client: LiveServer, page: Page, folder: Path) -> Path:
    """One commit, a changed file and a new one, and a chat about them, open in the page."""
    folder.mkdir()
    (folder / "a.md").write_text("# Zebra\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    (folder / "a.md").write_text("# Lion\n")
    (folder / "b.md").write_text("new\n")
    await client.ask("POST", "/workspaces", {"root": str(folder)})
    client.model.replies[:] = ["Hello."]
    chat = await new_chat(client, workspace=str(folder))
    await chat.send("Rename the animal")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    await expect(page.get_by_text("Hello.", exact=True)).to_be_visible()
    return folder


async def test_a_check_that_nothing_allowed_is_allowed_where_the_evidence_stands_by_keyboard_alone(
    page: Page, client: LiveServer
) -> None:
    for name, content in (
        ("total.py", "total = 2\n"),
        ("test_total.py", "import total\ndef test_it():\n    assert total.total == 3\n"),
    ):
        (client.workspace / name).write_text(content)
    wrong = call("update_file", path="total.py", edits=[{"find": "2", "replace": "4"}])
    right = call("update_file", path="total.py", edits=[{"find": "4", "replace": "3"}])
    client.model.replies = [wrong, "Done.", right, "Done again."]
    chat = await new_chat(client)
    await client.ask("PATCH", chat.path, {"autonomy": "edits"})
    await chat.send("Let the total be 3.")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    await tab_to(page, page.get_by_role("button", name="Claimed"))
    await page.keyboard.press("Enter")
    details = page.get_by_role("region", name="Not run, because nothing allows it without asking")
    await expect(details.get_by_text("python3 -m pytest")).to_be_visible()
    await tab_to(page, details.get_by_role("button", name="Always allow here"))
    assert await violations(page) == []
    await page.keyboard.press("Enter")
    await expect(details.get_by_text("Allowed in this folder.")).to_be_visible()
    await chat.send("Compute it.")
    await expect(page.get_by_role("button", name="Checked", exact=True)).to_be_visible()
