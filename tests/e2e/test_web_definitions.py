"""Roles and workflows written in the settings, in a real browser: checked while they are typed, saved, duplicated, deleted. And what
the settings say of the server itself. One server for all."""

import re

import pytest_asyncio
from playwright.async_api import Page, expect

from anycowork.server.audit.export_verifier import ExportVerifier
from e2e.browsing import PHONE, a_browser, a_page, violations
from support.live_server import LiveServer, live_server
from support.spec import proves


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(tmp_path_factory):
    async with live_server(tmp_path_factory.mktemp("definitions"), replies=["Hello."]) as client:
        yield client


async def agents_page(page: Page) -> None:
    await page.goto(page.url.split("#")[0] + "#/settings/agents")
    await expect(page.get_by_role("button", name="New role")).to_be_visible()
    await expect(page.get_by_role("button", name="View explain_code")).to_be_visible()


@proves("UI-5")
async def test_a_role_is_written_by_keyboard_and_each_fault_stands_at_its_field(page: Page, client: LiveServer):
    await agents_page(page)
    await page.get_by_role("button", name="New role").focus()
    await page.keyboard.press("Enter")
    form = page.get_by_role("form", name="New role")
    name = form.get_by_label(re.compile("^Name "))
    await expect(name).to_be_focused()
    await page.keyboard.type("Actor!")
    await expect(form.get_by_text(re.compile("Name must be a lower-case letter"))).to_be_visible()
    await expect(name).to_have_attribute("aria-invalid", "true")
    await expect(form.get_by_role("button", name="Save")).to_be_disabled()
    assert await violations(page) == []
    await name.fill("actor")
    await expect(form.get_by_text("Name is a built-in role")).to_be_visible()
    await name.fill("translator")
    await form.get_by_label("Description").fill("Translates.")
    await form.get_by_label("Create files").focus()
    await page.keyboard.press("Space")
    await form.get_by_label("Instructions").fill("Translate what you are asked to.")
    await expect(form.get_by_text(re.compile("^Name (must|is) "))).to_have_count(0)
    await expect(form.get_by_role("button", name="Save")).to_be_enabled()
    await form.get_by_role("button", name="Save").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Edit Translator")).to_be_visible()
    saved = await client.ask("GET", "/roles/translator")
    assert (saved["permissions"], saved["tooltip"]) == (["read_files", "create_files"], "Translates.")
    assert (client.workspace.parent / "data" / "roles" / "translator.toml").exists()

    await page.get_by_role("button", name="Edit Translator").click()
    form = page.get_by_role("form", name="Edit translator")
    await expect(form.get_by_label("Instructions")).to_have_value("Translate what you are asked to.")
    await form.get_by_label("Create files").uncheck()
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="New role")).to_be_visible()
    assert (await client.ask("GET", "/roles/translator"))["permissions"] == ["read_files"]

    await page.get_by_role("button", name="Delete Translator").click()
    await expect(page.get_by_role("dialog", name="Delete Translator?")).to_be_visible()
    assert await violations(page) == []
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.get_by_role("button", name="Delete Translator").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("button", name="Edit Translator")).to_have_count(0)
    await client.ask("GET", "/roles/translator", expect=404)


@proves("UI-5")
async def test_built_in_roles_are_looked_at_and_duplicated_at_phone_width(client: LiveServer):
    async with a_browser() as browser, a_page(browser, client.url, viewport=PHONE, dark=True) as page:
        await agents_page(page)
        await expect(page.get_by_role("button", name="Delete Planner")).to_have_count(0)
        await page.get_by_role("button", name="View Planner").click()
        view = page.get_by_role("region", name="Planner")
        await expect(view.get_by_label("Instructions")).to_contain_text("PLANNER")
        assert await violations(page) == []
        await view.get_by_role("button", name="Duplicate").click()
        form = page.get_by_role("form", name="New role")
        await expect(form.get_by_label(re.compile("^Name "))).to_have_value("planner_copy")
        await form.get_by_role("checkbox", name="actor").check()
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await form.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("button", name="Edit Planner copy")).to_be_visible()
        saved = await client.ask("GET", "/roles/planner_copy")
        assert (saved["output"], saved["delegates"], saved["permissions"]) == ("plan", ["actor"], ["read_files"])


@proves("UI-5", "WFL-3")
async def test_a_workflow_is_written_with_the_line_of_its_fault_and_run(page: Page, client: LiveServer):
    await agents_page(page)
    await page.get_by_role("button", name="New workflow").click()
    form = page.get_by_role("form", name="New workflow")
    await expect(form.get_by_label(re.compile("^Name "))).to_be_focused()
    await page.keyboard.type("my_notes")
    await expect(form.get_by_text("Valid: 1 step. Needs: Read files.")).to_be_visible()
    definition = form.get_by_label("Definition")
    good = await definition.input_value()
    await definition.fill(good.replace("Read {{path}}", "Read {{file}}"))
    await expect(form.get_by_text(re.compile("Cannot be saved: .*file"))).to_be_visible()
    await expect(form.get_by_role("button", name="Save")).to_be_disabled()
    await form.get_by_role("button", name=re.compile("Go to line")).click()
    chosen = "it => it.value.slice(it.selectionStart, it.selectionEnd)"
    assert "{{file}}" in await definition.evaluate(chosen)
    assert await violations(page) == []
    await definition.fill(good)
    await expect(form.get_by_text("Valid: 1 step.")).to_be_visible()
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="Edit my_notes")).to_be_visible()
    assert (await client.ask("GET", "/workflows/my_notes"))["content"] == good

    await page.get_by_role("button", name="Duplicate explain_code").click()
    form = page.get_by_role("form", name="New workflow")
    await expect(form.get_by_label(re.compile("^Name "))).to_have_value("explain_code_copy")
    await expect(form.get_by_text(re.compile("^Valid: "))).to_be_visible()
    await form.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Delete my_notes").click()
    await page.get_by_role("dialog", name="Delete my_notes?").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("button", name="Edit my_notes")).to_have_count(0)
    await client.ask("GET", "/workflows/my_notes", expect=404)


@proves("UI-5")
async def test_the_settings_name_the_server_and_check_its_audit_chain(page: Page, client: LiveServer):
    chat = await client.chat()
    await chat.send("hi")
    await page.goto(page.url.split("#")[0] + "#/settings/about")
    await expect(page.get_by_text(str(client.workspace.parent / "data"))).to_be_visible()
    await expect(page.get_by_role("region", name="Storage").get_by_text("checkpoints")).to_be_visible()
    await page.get_by_role("button", name="Check the audit chain").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text(re.compile("The audit chain is intact"))).to_be_visible()
    assert await violations(page) == []
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Export for auditors").click()
    export = await (await downloading.value).path()
    verifier = ExportVerifier(export)
    verifier.run()
    assert verifier.problems == [] and verifier.counts["records"] > 0
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await violations(page) == []


@proves("ROL-7")
async def test_an_agent_is_added_edited_and_removed_in_the_page(page: Page, client: LiveServer):
    async def agents() -> dict[str, tuple[str, str | None]]:
        listed = (await client.ask("GET", "/agents"))["agents"]
        return {agent["name"]: (agent["role"], agent["model"]) for agent in listed}

    built_in = await agents()
    await agents_page(page)
    await page.get_by_role("button", name="New agent").click()
    form = page.get_by_role("form", name="New agent")
    await form.get_by_label(re.compile("^Name ")).fill("Fast One")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("alert")).to_contain_text("agents")
    assert await agents() == built_in
    await form.get_by_label(re.compile("^Name ")).fill("fast")
    await form.get_by_role("combobox", name="Role").select_option("Tester")
    await form.get_by_label("Model").fill("scripted/quick")
    assert await violations(page) == []
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Tester · scripted/quick")).to_be_visible()
    assert await agents() == {**built_in, "fast": ("tester", "scripted/quick")}
    await page.get_by_role("button", name="Edit fast").click()
    form = page.get_by_role("form", name="Edit fast")
    await form.get_by_label("Model").fill("")
    await form.get_by_label(re.compile("^Instructions")).fill("Be quick.")
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Tester · the chat's model")).to_be_visible()
    stored = (await client.ask("GET", "/settings"))["agents"]["fast"]
    assert (stored["model"], stored["prompt"]) == (None, "Be quick.")
    await page.get_by_role("button", name="Remove fast").click()
    await expect(page.get_by_text("fast is removed.")).to_be_visible()
    assert await agents() == built_in
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("button", name="Edit fast")).to_be_visible()
    assert await agents() == {**built_in, "fast": ("tester", None)}
    await page.get_by_role("button", name="Remove fast").click()
    await expect(page.get_by_role("button", name="Edit fast")).to_have_count(0)


async def test_a_limit_that_is_refused_says_so_at_its_field(page: Page):
    await page.goto(page.url.split("#")[0] + "#/settings/limits")
    field = page.get_by_label("Tool calls per turn", exact=True)
    await field.fill("many")
    await field.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("max_steps")
    await expect(field).to_have_value("many")
    await expect(field).to_have_attribute("aria-invalid", "true")
    assert await violations(page) == []
    await field.fill("12")
    await field.press("Enter")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await expect(field).to_have_value("12")
