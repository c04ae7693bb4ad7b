"""Files beside the chat in a real browser: the tree by keyboard, a file, an edit with a conflict, net changes by hunk, phone width."""

import re
from pathlib import Path

from playwright.async_api import Page, expect

from e2e.browsing import DESKTOP, PHONE, at_the_page, hold_toasts, start_chat, violations
from support.git_commands import git
from support.pdf_files import pdf
from support.scripted_model import call
from support.spec import proves

LONG = "".join(f"line {number}\n" for number in range(1, 31))
FILES = {
    "README.md": "# Zebra\n\nA small project.\n",
    "src/app.py": "def hello() -> str:\n    return 'hello'\n",
    "src/deep/er/notes.txt": LONG,
    "build/out.bin": "x",
    ".gitignore": "build/\n",
    ".env": "KEY=secret\n",
}
EDITS = [{"find": "line 2\n", "replace": "LINE 2\n"}, {"find": "line 28\n", "replace": "LINE 28\nmore\n"}]
CUT_WITH_ELLIPSIS = "(it) => it.scrollWidth > it.clientWidth && getComputedStyle(it).textOverflow === 'ellipsis'"
ALLOWED = {"tool": "update_file", "resource": "*", "effect": "allow", "scope": "global"}
REPLIES = [
    call("read_file", path="src/deep/er/notes.txt"),
    call("update_file", path="src/deep/er/notes.txt", edits=EDITS),
    "Done.",
]


async def open_files(page: Page) -> None:
    await page.get_by_role("button", name="Files and changes").click()
    await expect(page.get_by_role("tree", name="Files of the workspace")).to_be_visible()


@proves("UI-10")
async def test_files_are_browsed_by_keyboard_edited_and_saved_as_the_persons_change(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=REPLIES, files=FILES) as (page, client):
        await client.ask("POST", "/rules", ALLOWED, expect=201)
        await start_chat(page, "Change the notes")
        await expect(page.get_by_text("Done.", exact=True)).to_be_visible()
        await open_files(page)
        for count in (0, 1):  # the key closes and opens it
            await page.keyboard.press("Alt+F")
            await expect(page.get_by_role("tree", name="Files of the workspace")).to_have_count(count)
        tree = page.get_by_role("tree")
        await tree.focus()
        await expect(tree.get_by_role("treeitem", name="src")).to_contain_text("Changed by the agent")
        await expect(tree.get_by_role("treeitem", name=re.compile("build.*ignored by git"))).to_be_visible()
        assert await violations(page) == []
        await page.keyboard.press("s")
        await page.keyboard.press("ArrowRight")
        await expect(tree.get_by_role("treeitem", name="app.py")).to_be_visible()
        await page.keyboard.press("a")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Content of src/app.py")).to_contain_text("return 'hello'")
        await expect(page.locator("#file-text .hljs-keyword").first).to_have_text("def")
        assert await violations(page) == []
        await page.get_by_role("button", name="Edit", exact=True).click()
        editor = page.get_by_role("textbox", name="Editor for src/app.py")
        await expect(editor).to_be_focused()
        await page.keyboard.press("Control+End")
        await page.keyboard.type("# mine\n")
        (client.workspace / "src/app.py").write_text("theirs\n")
        await page.keyboard.press("Control+s")
        await expect(page.get_by_label("Your version").first).to_contain_text("# mine")
        await expect(page.get_by_label("The file as it is now").first).to_contain_text("theirs")
        assert await violations(page) == []
        await page.get_by_role("button", name="Save my version").click()
        await expect(page.get_by_label("Content of src/app.py")).to_contain_text("# mine")
        await expect(page.get_by_text("You edited src/app.py")).to_be_visible()
        assert (client.workspace / "src/app.py").read_text().endswith("# mine\n")
        await page.keyboard.press("Escape")
        await expect(tree).to_be_visible()
        await tree.get_by_role("treeitem", name=".env").click()
        await expect(page.get_by_text("This file may hold keys or passwords.")).to_be_visible()
        await page.get_by_role("button", name="Show it").click()
        await expect(page.get_by_label("Content of .env")).to_contain_text("KEY=secret")


@proves("UI-10")
async def test_net_changes_are_kept_reverted_and_commented_hunk_by_hunk(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=REPLIES, files=FILES) as (page, client):
        notes = client.workspace / "src/deep/er/notes.txt"
        await client.ask("POST", "/rules", ALLOWED, expect=201)
        await start_chat(page, "Change the notes")
        await expect(page.get_by_text("Done.", exact=True)).to_be_visible()
        named = page.get_by_role("note", name="Changed in this turn").get_by_role(
            "button", name="src/deep/er/notes.txt"
        )
        await page.set_viewport_size({"width": PHONE["width"] - 30, "height": PHONE["height"]})
        assert await named.evaluate(CUT_WITH_ELLIPSIS), "a long name ends in an ellipsis, not in the middle of a letter"
        await page.set_viewport_size({"width": DESKTOP["width"], "height": DESKTOP["height"]})
        await page.get_by_role("button", name="src/deep/er/notes.txt", exact=True).first.click()
        await expect(page.get_by_label("Content of src/deep/er/notes.txt")).to_contain_text("LINE 28")
        await page.get_by_role("tab", name="Changes").click()
        first = page.get_by_role("region", name="Line 2", exact=True)
        await expect(first).to_contain_text("LINE 2")
        assert await violations(page) == []
        await first.get_by_role("button", name="Comment to the agent").click()
        await expect(page.get_by_label("Message", exact=True)).to_have_value(
            "`src/deep/er/notes.txt:2`\n```\n-line 2\n+LINE 2\n```\n"
        )
        second = page.get_by_role("region", name="Lines 28–29", exact=True)
        await second.get_by_role("button", name="Keep").click()
        await expect(second.get_by_role("button", name="Kept")).to_have_attribute("aria-pressed", "true")
        await hold_toasts(page)
        await first.get_by_role("button", name="Restore").click()
        await expect(page.get_by_text("Restored src/deep/er/notes.txt.")).to_be_visible()
        assert notes.read_text() == LONG.replace("line 28\n", "LINE 28\nmore\n")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("region", name="Line 2", exact=True)).to_be_visible()
        await expect(page.get_by_text("Files were restored to an earlier state")).to_be_visible()
        await page.get_by_role("button", name="Restore file src/deep/er/notes.txt").click()
        await expect(page.get_by_text("No file has changed since the chat began.")).to_be_visible()
        assert notes.read_text() == LONG


@proves("UI-10")
async def test_at_phone_width_the_files_lie_over_the_chat_and_give_it_back(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=["It is in src/app.py:2."], files=FILES, viewport=PHONE, dark=True) as (
        page,
        _,
    ):
        await start_chat(page, "Hi")
        await page.get_by_role("button", name="More about this chat").click()
        await page.get_by_role("menuitem", name="Files and changes").click()
        await page.get_by_role("treeitem", name="README.md").click()
        await expect(page.get_by_label("Content of README.md")).to_contain_text("A small project.")
        assert await violations(page) == []
        await page.get_by_role("button", name="Close files").click()
        await expect(page.get_by_role("complementary", name="Files")).to_have_count(0)
        await page.get_by_role("button", name="src/app.py:2").click()
        await expect(page.get_by_label("Content of src/app.py")).to_contain_text("return 'hello'")


@proves("UI-10")
async def test_a_person_commits_branches_pushes_and_opens_a_worktree_beside_the_chat(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=["Hello."], files=FILES) as (page, client):
        folder = client.workspace
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", ".gitignore", "README.md", "src")
        git(folder, "commit", "-qm", "First")
        (folder / "README.md").write_text("# Lion\n")
        await start_chat(page, "Rename the animal")
        await open_files(page)
        await page.get_by_role("tab", name="Git").click()
        await expect(page.get_by_label("Branch", exact=True)).to_contain_text("main")
        await expect(page.get_by_label("Include .env in the commit")).not_to_be_checked()
        await page.get_by_label("Commit message").fill(
            "Rename the animal"
        )  # the chat changed no file: nothing is proposed
        assert await violations(page) == []
        await page.get_by_label("Name", exact=True).fill("A Person")  # git knows nobody on this machine
        await page.get_by_label("E-mail address").fill("person@example.org")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("You commit as A Person.")).to_be_visible()
        await page.get_by_role("button", name="New branch").click()
        await page.keyboard.type("lion")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Branch", exact=True)).to_contain_text("lion")
        await page.get_by_role("button", name="Commit 1 file").click()
        await expect(page.get_by_text("You committed 1 file")).to_be_visible()
        newest = ""
        for _ in range(300):  # what a person does is recorded before it is done
            if (newest := git(folder, "log", "-1", "--format=%D|%an|%s")) != "HEAD -> lion, main|t|First\n":
                break
            await page.wait_for_timeout(100)
        assert newest == "HEAD -> lion|A Person|Rename the animal\n"
        assert git(folder, "show", "--name-only", "--format=") == "README.md\n"
        git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
        with (folder / ".git/config").open("a") as config:
            config.write(f'[remote "origin"]\n\turl = file://{tmp_path}/remote.git\n')
        await page.get_by_role("button", name="Push…").click()
        dialog = page.get_by_role("dialog", name="Push lion")
        await expect(dialog.get_by_role("listitem")).to_have_count(2)
        await expect(dialog).to_contain_text("The remote does not have this branch yet.")
        await page.set_viewport_size({"width": 390, "height": 844})
        await expect(dialog.get_by_role("button", name="Push", exact=True)).to_be_in_viewport()
        assert await violations(page) == []
        await page.set_viewport_size({"width": 1280, "height": 800})
        await dialog.get_by_role("button", name="Push", exact=True).click()
        await expect(page.get_by_text(re.compile("You push lion"))).to_be_visible()
        await expect(dialog).to_have_count(0)
        assert git(tmp_path / "remote.git", "log", "-1", "--format=%s", "lion") == "Rename the animal\n"
        await page.get_by_role("button", name="Work in a new worktree…").click()
        dialog = page.get_by_role("dialog", name="Work in a new worktree")
        await dialog.get_by_label("Name of the new branch").fill("tiger")
        assert await violations(page) == []
        first = page.url
        await dialog.get_by_role("button", name="Create worktree").click()
        await expect(page).not_to_have_url(first)
        assert (folder.parent / f"{folder.name}-tiger" / "README.md").read_text() == "# Lion\n"
        lion = {"name": "lion.pdf", "mimeType": "application/pdf", "buffer": pdf()}
        await page.get_by_test_id("files").set_input_files([lion])
        await expect(page.get_by_role("list", name="Files to send")).to_contain_text("lion.pdf")


@proves("UI-10")
async def test_a_wide_page_has_coloured_differences_side_by_side_and_the_tree_beside_the_file(tmp_path: Path) -> None:
    edit = call("update_file", path="src/app.py", edits=[{"find": "'hello'", "replace": "'good day'"}])
    async with at_the_page(tmp_path, replies=[edit, "Done."], files=FILES) as (page, _client):
        await page.set_viewport_size({"width": 1700, "height": 900})
        await start_chat(page, "Change the greeting")
        await expect(page.locator(".bg-removed .hljs-string")).to_have_text("'hello'")  # on the card that asks
        toggle = page.get_by_role("button", name="Old and new side by side").first
        await toggle.click()
        await expect(toggle).to_have_attribute("aria-pressed", "true")
        pair = page.locator(".grid-cols-2", has=page.locator(".bg-removed")).first
        await expect(pair).to_contain_text("'hello'")
        await expect(pair.locator(".bg-added .hljs-string")).to_have_text("'good day'")
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert await violations(page) == []
        await open_files(page)
        handle = page.get_by_role("separator", name="Width of the files")
        await handle.focus()
        await page.keyboard.press("ArrowLeft")
        await expect(handle).to_have_attribute("aria-valuenow", "51")
        tree = page.get_by_role("tree")
        await tree.get_by_role("treeitem", name="README.md").click()
        await expect(page.get_by_label("Content of README.md")).to_contain_text("A small project.")
        await expect(tree).to_be_visible()
        await tree.get_by_role("treeitem", name="src").click()
        await tree.get_by_role("treeitem", name="app.py").click()
        await expect(page.get_by_label("Content of src/app.py")).to_contain_text("return 'hello'")
        assert await violations(page) == []
        await page.reload()
        await expect(page.locator(".grid-cols-2 .bg-removed").first).to_be_visible()
        await page.set_viewport_size(PHONE)
        await expect(page.locator(".bg-removed .hljs-string")).to_have_text("'hello'")
        await expect(page.locator(".grid-cols-2 .bg-removed")).to_have_count(0)
        await expect(page.get_by_role("button", name="Old and new side by side")).to_have_count(0)
        assert await violations(page) == []


@proves("UI-10")
async def test_the_tree_beside_an_opened_file_shows_where_it_is(tmp_path: Path) -> None:
    files = {f"part{number:02}/module.py": "x = 1\n" for number in range(60)}
    replies = [call("read_file", path="part59/module.py"), "Done."]
    async with at_the_page(tmp_path, replies=replies, files=files, viewport={"width": 1680, "height": 900}) as (
        page,
        _,
    ):
        await start_chat(page, "Read the last one")
        await expect(page.get_by_text("Done.", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Open part59/module.py").click()
        row = page.get_by_role("tree").get_by_role("treeitem", name="module.py", selected=True)
        await expect(row).to_be_in_viewport()
        await page.mouse.move(0, 0)
        await expect(row).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
        assert await violations(page) == []
