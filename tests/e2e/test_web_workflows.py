"""Workflows in a real browser: found, filled in and run by keyboard alone, trusted before they run, and followed to their end."""

import re

from playwright.async_api import expect

from e2e.browsing import PHONE, at_the_page, decide_by_key, start_chat, violations
from support.scripted_model import call
from support.spec import proves
from support.workflows import supplied, written

RELEASE = """+++
description = "Write the notes of a release."
needs = ["read_files", "create_files"]

[[parameters]]
name = "version"
description = "the version that is released"
+++

## Write the notes of {{version}}

Write NOTES.md for version {{version}}.
"""

EVERY_TYPE = """+++
description = "Count something."

[[parameters]]
name = "most"
type = "integer"
description = "how many"

[[parameters]]
name = "where"
type = "path"
default = "src"

[[parameters]]
name = "manner"
choices = ["short", "long"]
required = false

[[parameters]]
name = "loud"
type = "boolean"
default = true
+++

It never counts further than it must.

## Count to {{most}}

Count to {{most}} in {{where}}, manner: {{manner}}, loud: {{loud}}.
"""


@proves("UI-5", "WFL-2")
async def test_a_form_suits_every_type_and_tells_each_fault_at_its_field(tmp_path):
    written(tmp_path, count=EVERY_TYPE)
    async with at_the_page(tmp_path, replies=["Hello.", "One, two."]) as (page, client):
        await start_chat(page, "good day")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("/cou")
        await expect(page.get_by_role("option").first).to_contain_text("/count")
        await page.keyboard.press("Enter")
        form = page.get_by_role("form", name="count")
        await expect(form).to_contain_text("It never counts further than it must.")
        await form.get_by_role("textbox", name="most").fill("three")
        await form.get_by_role("textbox", name="where").fill("/etc")
        manner = form.get_by_role("combobox", name="manner")
        await manner.select_option("long")
        await manner.select_option("none")  # what need not be given can be taken back
        await form.get_by_role("checkbox", name="loud").uncheck()
        await page.get_by_role("button", name="Run", exact=True).click()
        await expect(form).to_contain_text("It must be a whole number.")
        await expect(form).to_contain_text("It must be a path inside the workspace")
        await expect(form.get_by_role("checkbox", name="loud")).not_to_be_checked()
        assert await violations(page) == []
        await form.get_by_role("textbox", name="most").fill("2")
        await form.get_by_role("textbox", name="where").fill("lib")
        await page.get_by_role("button", name="Run", exact=True).click()
        await expect(page.get_by_text("One, two.")).to_be_visible()
        asked = client.model.requests[-1]["messages"][-1]["content"]
        assert "Count to 2 in lib, manner: , loud: false." in asked


@proves("UI-5", "UI-6")
async def test_the_start_page_completes_a_slash_and_opens_the_form_in_a_new_chat(tmp_path):
    async with at_the_page(tmp_path) as (page, client):
        await page.get_by_label("Message", exact=True).focus()
        await page.keyboard.type("/cre")
        await expect(page.get_by_role("option").first).to_contain_text("/create_project")
        assert await violations(page) == []
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/#/chat/**")
        await expect(
            page.get_by_role("form", name="create_project").get_by_role("textbox", name="name")
        ).to_be_focused()
        assert client.model.requests == []


@proves("UI-5", "UI-6")
async def test_a_workflow_is_found_filled_in_and_run_by_keyboard_alone(tmp_path):
    replies = ["Hello.", "The project is laid out.", "It is checked."]
    async with at_the_page(tmp_path, replies=replies) as (page, client):
        await start_chat(page, "good day")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        message = page.get_by_label("Message", exact=True)
        await message.focus()
        await page.keyboard.type("/cre")
        options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
        await expect(options.first).to_contain_text("/create_project")
        assert await violations(page) == []
        await page.keyboard.press("Enter")

        form = page.get_by_role("form", name="create_project")
        name = form.get_by_role("textbox", name="name")
        await expect(name).to_be_focused()
        await page.keyboard.press("Enter")  # nothing stands in it yet
        await expect(name).to_have_attribute("aria-invalid", "true")
        assert await violations(page) == []
        await page.keyboard.type("clock")
        await page.keyboard.press("Tab")
        await page.keyboard.type("static")
        await page.keyboard.press("Tab")
        await page.keyboard.type("It shows the time.")
        await page.keyboard.press("Enter")
        await expect(form).to_be_hidden()

        await expect(page.get_by_label("Approvals")).to_contain_text("clock/README.md")
        going = page.get_by_role("note", name="Workflow").last
        await expect(going).to_contain_text("create_project · step 1 of 3 · Begin with the README · waits for you")
        await expect(message).to_be_focused()
        await page.keyboard.press("Escape")
        await decide_by_key(page, "y")
        await expect(page.get_by_role("button", name="Step 2 of 3 · Lay out the project")).to_be_visible()
        ordered = page.get_by_role("note", name="Workflow").first
        await expect(ordered).to_contain_text("create_project · 3 of 3 steps · completed")
        assert "It shows the time." in (client.workspace / "clock" / "README.md").read_text()
        await expect(page.get_by_text("It is checked.")).to_be_visible()
        assert await violations(page) == []

        await page.reload()
        await expect(ordered).to_contain_text("create_project · 3 of 3 steps · completed")


@proves("UI-5")
async def test_the_selector_offers_the_role_that_a_workflow_needs(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."], dark=True) as (page, _):
        await start_chat(page, "good day", role="Planner")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await page.keyboard.press("Control+k")
        await expect(page.get_by_role("combobox", name="What do you want to do?")).to_be_focused()
        await page.keyboard.type("workflows")
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Workflows")
        find = dialog.get_by_role("combobox", name="Find a workflow")
        await expect(find).to_be_focused()
        await expect(dialog.get_by_role("group", name="understand")).to_contain_text("explain_code")
        assert await violations(page) == []
        await page.keyboard.type("create_project")
        await page.keyboard.press("Enter")
        form = page.get_by_role("form", name="create_project")
        await expect(form.get_by_role("note")).to_contain_text("Planner may not run this")
        assert await violations(page) == []
        await form.get_by_role("button", name="Switch to Actor").click()
        await expect(form.get_by_role("note")).to_be_hidden()
        await expect(page.get_by_role("button", name=re.compile("^Role: Actor"))).to_be_attached()


@proves("UI-5")
async def test_what_a_folder_supplies_is_read_and_trusted_before_it_runs_and_again_after_a_change(tmp_path):
    async with at_the_page(
        tmp_path, replies=["Hello.", call("create_file", path="NOTES.md", content="1.2\n")], viewport=PHONE
    ) as (page, client):
        supplied(client.workspace, release=RELEASE)
        await start_chat(page, "good day")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await page.get_by_role("button", name="Workflows", exact=True).click()
        await expect(page.get_by_role("combobox", name="Find a workflow")).to_be_focused()
        await page.keyboard.type("release")
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="release")
        await expect(dialog.get_by_label("Content of .anycowork/workflows/release.md")).to_contain_text(
            "Write NOTES.md"
        )
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await dialog.get_by_role("button", name="Trust this content").click()
        await dialog.get_by_role("textbox", name="version").fill("1.2")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Approvals")).to_contain_text("NOTES.md")

        supplied(client.workspace, release=RELEASE.replace("Write NOTES.md", "Write anything"))
        await page.goto(page.url.split("#")[0] + "#/settings/workspaces")
        folders = page.get_by_role("region", name="Workspaces")
        await expect(folders).to_contain_text("not trusted: it is not used")
        await folders.get_by_role("button", name="Look").click()
        await expect(folders).to_contain_text("Write anything")
        assert await violations(page) == []
