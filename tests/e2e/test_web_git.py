"""Git beside the chat in a real browser, on a real repository: history, switch, hunks, amend, stash, pull with conflicts, hooks."""

import re
from pathlib import Path

from playwright.async_api import expect

from e2e.browsing import DRAWN, PHONE, at_the_page, hold_toasts, start_chat, violations
from e2e.test_web_everyday import COVERED
from e2e.test_web_files import open_files
from support.git_commands import git
from support.spec import proves

LINES = "".join(f"line {number}\n" for number in range(40))


@proves("UI-14/1", "UI-14/3", "UI-14/4", "UI-14/5", "UI-14/7", "UI-14/9")
async def test_a_day_with_git_beside_the_chat(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=["Hello."], files={"a.txt": LINES}) as (page, client):
        folder, theirs = client.workspace, tmp_path / "theirs"
        git(folder, "init", "-q", "-b", "main")
        git(folder, "config", "user.name", "Ann")
        git(folder, "config", "user.email", "ann@example.org")
        git(folder, "add", "a.txt")
        git(folder, "commit", "-qm", "First")
        git(folder, "branch", "other")
        git(tmp_path, "clone", "-q", str(folder), str(theirs))
        git(folder, "remote", "add", "origin", str(theirs))
        (folder / ".git/hooks/pre-commit").write_text("#!/bin/sh\necho ran > .git/hook-ran\n")
        (folder / ".git/hooks/pre-commit").chmod(0o755)
        (folder / "a.txt").write_text(LINES.replace("line 3\n", "three\n").replace("line 35\n", "thirty-five\n"))
        await start_chat(page, "Change the lines")
        await open_files(page)
        await page.get_by_role("tab", name="Git").click()
        await page.get_by_role("button", name="Hooks…").click()
        dialog = page.get_by_role("dialog", name="Hooks of this repository")
        await expect(dialog).to_contain_text("echo ran")
        assert await violations(page) == []
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        await page.evaluate(DRAWN)
        await page.get_by_role("button", name="Hooks…").click()  # the pane behind the dialog is still there
        await dialog.get_by_role("button", name="Run these hooks when I commit").click()
        await expect(page.get_by_text("Hooks that run: pre-commit.")).to_be_visible()
        await page.get_by_role("button", name=re.compile("^a.txt")).click()
        await page.get_by_label("Include part 2 of 2").uncheck()
        assert await violations(page) == []
        await page.get_by_label("Commit message").fill("Change the lines")
        await page.get_by_role("button", name="Commit 1 file").click()
        await expect(page.get_by_text("You committed 1 file")).to_be_visible()
        assert git(folder, "show", "HEAD:a.txt") == LINES.replace("line 3\n", "three\n")
        assert (folder / ".git/hook-ran").exists()
        await page.get_by_role("button", name="Stashes", exact=True).click()
        await page.get_by_label("What you put aside").fill("The rest")
        await page.get_by_role("button", name="Stash", exact=True).click()
        await expect(page.get_by_role("button", name="Apply On main: The rest")).to_be_visible()
        assert git(folder, "status", "--porcelain") == ""
        (theirs / "a.txt").write_text(LINES.replace("line 3\n", "their three\n"))
        git(theirs, "commit", "-qam", "Theirs")
        await page.get_by_role("button", name="Pull…").click()
        dialog = page.get_by_role("dialog", name="Pull main")
        await expect(dialog).to_contain_text(str(theirs))
        await hold_toasts(page)
        await dialog.get_by_role("button", name="Pull", exact=True).click()
        merge = page.get_by_role("note", name="A merge is in progress")
        await expect(merge).to_be_visible()
        await expect(page.get_by_role("status").filter(has_text="In conflict: a.txt.")).to_be_visible()
        assert await page.evaluate(COVERED) == []
        assert await violations(page) == []
        await merge.get_by_role("button", name="Cancel the merge").click()
        await expect(merge).to_have_count(0)
        await page.get_by_role("button", name="History", exact=True).click()
        log = page.get_by_role("list", name="Commits")
        await expect(log.get_by_role("listitem").first).to_contain_text("Change the lines")
        await log.get_by_role("button", name=re.compile("First")).click()
        await expect(page.get_by_role("list", name="Files that the commit changed")).to_contain_text("a.txt")
        await expect(log.get_by_text("First", exact=True)).to_have_count(2)  # a long subject is cut in its row alone
        await page.get_by_role("button", name="Switch…").click()
        await page.get_by_label("Branch to switch to").select_option("other")
        await page.get_by_role("button", name="Switch", exact=True).click()
        await expect(page.get_by_label("Branch to switch to")).to_have_count(0)
        await expect(page.get_by_label("Branch", exact=True)).to_contain_text("other")
        assert (folder / "a.txt").read_text() == LINES
        await page.set_viewport_size(PHONE)
        await expect(page.get_by_role("button", name="History", exact=True)).to_be_visible()
        assert await violations(page) == []
