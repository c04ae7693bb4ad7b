"""The settings in a real browser: rules explained and tried out, client keys made and revoked."""

import re

from playwright.async_api import expect

from anycowork.server.remote_worker import RemoteWorker
from anycowork.server.worker_connection import WorkerConnection
from e2e.browsing import PHONE, at_the_page, start_chat, violations
from support.distributions import install
from support.live_server import new_session
from support.scripted_model import HttpError, ScriptedModel, call
from support.spec import proves


@proves("UI-5", "APR-7")
async def test_a_person_asks_which_rule_decides_before_any_call_is_made(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."], files={"notes/a.md": "a\n"}) as (page, client):
        await start_chat(page, "hi")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await client.ask(
            "POST", "/rules", {"tool": "update_file", "resource": "/notes/*", "effect": "deny", "scope": "global"}
        )
        await page.goto(page.url.split("#")[0] + "#/settings/permissions")
        form = page.get_by_role("form", name="Which rule decides?")
        await form.get_by_label("Tool of the call").fill("update_file")
        await form.get_by_label("File, command, or parameters as JSON").fill("notes/a.md")
        await form.get_by_role("button", name="Explain").click()
        raw = form.get_by_role("status").get_by_text("deny update_file on /notes/*")
        await expect(form.get_by_role("status").get_by_text("The rule: ")).to_be_visible()
        await expect(raw).to_be_hidden()
        await form.get_by_text("As it is stored").click()
        await expect(raw).to_be_visible()
        assert await violations(page) == []
        await form.get_by_label("Tool of the call").fill("execute_command")
        await form.get_by_label("File, command, or parameters as JSON").fill("ls -l")
        await page.keyboard.press("Enter")
        await expect(form.get_by_role("status")).to_contain_text("No rule matched.")


@proves("UI-5")
async def test_a_rule_is_tried_on_past_calls_before_it_is_written(tmp_path):
    replies = [call("read_file", path="a.md"), "Read."]
    async with at_the_page(tmp_path, replies=replies, files={"a.md": "a\n"}) as (page, client):
        await start_chat(page, "read it")
        await expect(page.get_by_text("Read.", exact=True)).to_be_visible()
        await page.goto(page.url.split("#")[0] + "#/settings/permissions")
        await page.get_by_role("button", name="Add a rule").click()
        await page.get_by_label("Effect").select_option("deny")
        await page.get_by_label("Tool", exact=True).fill("read_file")
        await page.get_by_label("File pattern or command").fill("/*")
        await page.get_by_role("button", name="Test on past calls").click()
        await expect(page.get_by_text("1 of the last 1 calls, 1 differently")).to_be_visible()
        await expect(page.get_by_text("read_file /a.md")).to_be_visible()
        assert await violations(page) == []
        assert (await client.ask("GET", "/rules"))["rules"] == []


@proves("UI-5")
async def test_a_client_key_is_made_shown_once_and_revoked(tmp_path):
    async with at_the_page(tmp_path, replies=["From the model."]) as (page, client):
        await page.goto(page.url.split("#")[0] + "#/settings/api-keys")
        await page.get_by_label("What the key is for").fill("editor")
        await page.keyboard.press("Enter")
        key = await page.get_by_label("The new key").inner_text()
        assert await violations(page) == []
        body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
        as_editor = {"headers": {"Authorization": f"Bearer {key}"}}
        answered = await client.ask("POST", "/v1/chat/completions", body, **as_editor)
        assert answered["choices"][0]["message"]["content"] == "From the model."

        await page.get_by_role("button", name="Done").click()
        await page.reload()
        await expect(page.get_by_role("button", name="Revoke the key editor")).to_be_visible()
        assert key not in await page.content()
        await page.get_by_role("button", name="Revoke the key editor").click()
        await expect(page.get_by_text(re.compile("was revoked"))).to_be_visible()
        await client.ask("POST", "/v1/chat/completions", body, expect=401, **as_editor)


_PLACEHOLDERS_CUT = """(fields) => fields.map((field) => {
    field.value = field.placeholder
    return field.scrollWidth > field.clientWidth
})"""


@proves("UI-5", "GW-1")
async def test_a_client_key_gets_its_limits_from_the_form(tmp_path):
    async with at_the_page(tmp_path) as (page, client):
        await page.goto(page.url.split("#")[0] + "#/settings/api-keys")
        await page.get_by_label("What the key is for").fill("editor")
        await page.get_by_role("button", name="Limits").click()
        await page.get_by_label("Requests per minute").fill("60")
        await page.get_by_label("Tokens per day").fill("many")
        await expect(page.get_by_role("button", name="Create key")).to_be_disabled()
        await page.get_by_label("Tokens per day").fill("100000")
        assert await violations(page) == []
        await page.get_by_role("button", name="Create key").click()
        await page.get_by_role("button", name="Done").click()
        await expect(page.get_by_text("60 per minute · 100,000 tokens per day")).to_be_visible()
        await page.set_viewport_size(PHONE)
        shown = await page.locator("main input[placeholder]").evaluate_all(_PLACEHOLDERS_CUT)
        assert len(shown) == 4 and not any(shown), "on a phone a placeholder is cut"
        [key] = (await client.ask("GET", "/keys"))["keys"]
        assert key["limits"] == {"requests_per_minute": 60, "tokens_per_day": 100_000, "spend_per_day": None}


@proves("UI-6")
async def test_a_shortcut_gets_other_keys_and_keeps_them(tmp_path):
    async with at_the_page(tmp_path) as (page, _):
        await page.get_by_role("heading", level=1).click()
        await page.keyboard.press("?")
        await page.get_by_role("button", name="Open the command palette: Ctrl+K, change").click()
        await page.keyboard.press("Control+b")
        await expect(page.get_by_role("alert")).to_contain_text("Already: Show or hide the chats")
        assert await violations(page) == []
        await page.keyboard.press("Alt+p")
        await expect(page.get_by_role("button", name="Open the command palette: Alt+P, change")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.reload()
        await expect(page.get_by_role("button", name="Command palette, Alt+P")).to_be_visible()
        await page.keyboard.press("Control+k")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.keyboard.press("Alt+p")
        await expect(page.get_by_role("dialog")).to_have_count(1)


WORD_TOOLS = """
    @tool(path="path")
    def count_words(path: str) -> int:
        "Count the words of a file."
        return len(open(path).read().split())

    tools = [count_words]
"""


@proves("UI-5", "TOOL-2")
async def test_a_plugin_is_switched_on_and_off_and_one_that_fails_says_why(tmp_path):
    install(tmp_path / "data" / "plugins", "words", WORD_TOOLS)
    install(tmp_path / "data" / "plugins", "broken", "    raise RuntimeError('It is not ready.')\n")
    async with at_the_page(tmp_path) as (page, client):
        await page.goto(page.url.split("#")[0] + "#/settings/plugins")
        section = page.get_by_role("region", name="Plugins")
        await section.get_by_role("button", name="words: turn on").click()
        await expect(section.get_by_text("1 tool")).to_be_visible()
        await section.get_by_role("button", name="broken: turn on").click()
        await expect(section.get_by_label("What is wrong with broken")).to_be_visible()
        assert await violations(page) == []
        assert (await client.ask("GET", "/settings"))["plugins"] == ["words", "broken"]
        await section.get_by_role("button", name="words: turn off").click()
        await expect(section.get_by_text("off", exact=True)).to_be_visible()
        assert (await client.ask("GET", "/settings"))["plugins"] == ["broken"]


@proves("MOD-1", "MOD-2")
async def test_a_model_is_connected_with_a_pasted_key_edited_tested_and_answers(tmp_path):
    key, right = "sk-pasted-0123456789", "sk-replaced-987654321"
    async with (
        ScriptedModel([HttpError(401), "OK", "Good day."]) as office,
        at_the_page(tmp_path, guide=True) as (page, _),
    ):
        await page.goto(page.url.split("#")[0] + "#/settings/models")
        await page.get_by_role("button", name="Connect a model").click()
        await page.get_by_role("combobox", name="Server").select_option(label="Another OpenAI-compatible server")
        await page.get_by_role("textbox", name="Address").fill(office.base_url)
        await page.get_by_role("textbox", name="Name one word").fill("office")
        await page.get_by_label("API key").fill(key)
        assert await violations(page) == []
        await page.get_by_role("button", name="Connect and test").click()
        await expect(page.get_by_role("status").filter(has_text="refused the key")).to_be_visible()
        await page.get_by_role("button", name="Edit office").click()
        await page.get_by_label("New API key").fill(right)
        assert await violations(page) == []
        await page.get_by_role("button", name="Save and test").click()
        await expect(page.get_by_role("status").filter(has_text="office is ready")).to_be_visible()
        assert office.headers[-1]["Authorization"] == f"Bearer {right}"
        assert key not in await page.content() and right not in await page.content()
        await page.goto(page.url.split("#")[0] + "#/")
        await start_chat(page, "hi")
        await expect(page.get_by_text("Good day.")).to_be_visible()


@proves("MOD-2", "MOD-4/1")
async def test_what_a_model_can_do_is_set_in_the_page_for_each_model(tmp_path):
    async with at_the_page(tmp_path, guide=True) as (page, client):
        client.model.models = ("large", "small")
        client.model.mind = lambda body: "OK"
        await client.ask("POST", "/providers", {"name": "acme", "base_url": client.model.base_url}, expect=201)
        await page.goto(f"{client.url}/#/settings/models")
        await page.get_by_role("button", name="Edit acme").click()
        form = page.get_by_role("form", name="Edit acme")
        await form.get_by_role("combobox", name="Model", exact=True).select_option("small")
        await form.get_by_label("Accepts images").select_option(label="no")
        await form.get_by_label("Calls tools").select_option(label="natively")
        await form.get_by_label("Context in tokens").fill("32000")
        await form.get_by_label("US dollars per million tokens read").fill("0.5")
        await form.get_by_label("US dollars per million tokens written").fill("2")
        await form.get_by_label("Goes on with").fill("acme/large")
        await form.get_by_label("Who sees what is sent there").select_option(label="my company")
        assert await violations(page) == []
        await form.get_by_role("button", name="Save and test").click()
        await expect(form).to_have_count(0)
        [acme] = [one for one in (await client.ask("GET", "/providers"))["providers"] if one["name"] == "acme"]
        price = {"input": 0.5, "output": 2.0, "cached": None}
        small = {"images": False, "calling": "native", "context_tokens": 32_000, "price": price}
        assert acme["model_settings"] == {"small": {**small, "fallbacks": ["acme/large"]}}
        assert acme["privacy"] == "company"
        facts = await client.ask("GET", "/providers/acme/models")
        assert facts["facts"]["small"]["context_tokens"] == 32_000

        await page.get_by_role("button", name="Edit acme").click()
        await form.get_by_role("combobox", name="Model", exact=True).select_option("large")
        await expect(form.get_by_label("Context in tokens")).to_have_value("")
        await form.get_by_role("combobox", name="Model", exact=True).select_option("small")
        await expect(form.get_by_label("Context in tokens")).to_have_value("32000")
        await expect(form.get_by_label("Accepts images")).to_have_value("false")


@proves("JOB-12/4")
async def test_a_worker_is_invited_by_the_page_joins_with_that_command_and_is_removed(tmp_path):
    async with at_the_page(tmp_path) as (page, client), new_session() as session:
        await page.goto(page.url.split("#")[0] + "#/settings/workers")
        await expect(page.get_by_text("No workers yet.")).to_be_visible()
        await page.get_by_label("Labels that it may offer").fill("gpu")
        await page.keyboard.press("Enter")
        command = await page.get_by_label("The command for the new worker").inner_text()
        name, verb, *words = command.split()
        flags = dict(zip(words[::2], words[1::2], strict=True))
        assert (name, verb, flags["--labels"]) == ("anycowork", "worker", "gpu") and client.url == flags["--join"]
        link = WorkerConnection(flags["--join"], session)
        worker = RemoteWorker(link, None, tmp_path / "worker", report=lambda line: None)
        await worker.join(flags["--token"], ["gpu"])
        await page.get_by_role("button", name="Done").click()
        row = page.get_by_role("list", name="Workers").get_by_role("listitem")
        await expect(row).to_contain_text("Gets no tasks: It has no sandbox")
        assert await violations(page) == []
        await row.get_by_role("button", name="Remove the worker").click()
        await expect(page.get_by_text("No workers yet.")).to_be_visible()
