"""MCP servers in a real browser: signing in to a remote one, and a server that wants the person's model to answer a prompt."""

from pathlib import Path

from playwright.async_api import Page, expect

from e2e.browsing import at_the_page, start_chat, violations
from support.raw_mcp_server import offered, raw_server
from support.remote_accounts import accounts
from support.scripted_model import call
from support.spec import proves

PROMPT = {"type": "object", "properties": {"text": {"type": "string"}}}


async def open_settings(page: Page) -> None:
    await page.goto(page.url.split("#")[0] + "#/settings/mcp")
    await expect(page.get_by_role("form", name="Add a server")).to_be_visible()


@proves("MCP-1/1")
async def test_a_person_signs_in_to_a_remote_server_from_the_settings_page(tmp_path: Path) -> None:
    with accounts() as url:
        async with at_the_page(tmp_path) as (page, _):
            await open_settings(page)
            form = page.get_by_role("form", name="Add a server")
            await form.get_by_label("Name").fill("far")
            await form.get_by_label("Program or address").fill(url)
            await form.get_by_role("button", name="Add and test").click()
            sign_in = page.get_by_role("button", name="Sign in to far")
            await expect(sign_in).to_be_visible()
            await expect(page.get_by_text("failed", exact=True)).to_be_visible()
            # As a browser does that opens no page so long after the click.
            await page.evaluate("window.open = () => null")
            await sign_in.click()
            link = page.get_by_role("link", name="Open the sign-in page of far")
            await expect(link).to_be_visible()
            async with page.context.expect_page() as opened:
                await link.click()
            other = await opened.value
            await expect(other.get_by_text("You can close this page")).to_be_visible()
            await expect(page.get_by_text("ready", exact=True)).to_be_visible()
            await expect(page.get_by_text("Tools of far (1)")).to_be_visible()
            await expect(sign_in).to_have_count(0)
            await expect(link).to_have_count(0)
            assert await violations(page) == []
            kept = (tmp_path / "data" / "mcp-tokens.json").read_text()
            assert "access_token" in kept and "access_token" not in await page.content()


@proves("APR-8/2")
async def test_a_server_asks_the_persons_model_only_when_that_is_switched_on_and_each_prompt_allowed(
    tmp_path: Path,
) -> None:
    asked = call("raw__sample", text="Say\n<b>hello</b>.")
    replies = [asked, "First.", asked, "Second.", asked, "Hello to you.", "Third."]
    async with at_the_page(tmp_path, replies=replies) as (page, client):
        config = raw_server(tmp_path / "far", [offered("sample", PROMPT)])
        await client.ask("POST", "/mcp/servers", config, expect=201)
        await client.ask("POST", "/mcp/servers/raw/connect", {})

        async def ask(words: str) -> None:
            await start_chat(page, words)
            await page.get_by_role("button", name="Allow once").click()

        await ask("before")
        await expect(page.get_by_text("First.", exact=True)).to_be_visible()
        assert await page.get_by_role("group", name="Question").count() == 0
        assert len(client.model.requests) == 2, "off by default: the server cannot ask"
        await open_settings(page)
        switch = page.get_by_role("checkbox", name="raw may ask your model")
        await expect(switch).not_to_be_checked()
        await switch.click()
        await expect(switch).to_be_checked()
        await expect(page.get_by_text("ready", exact=True)).to_be_visible()
        await page.get_by_text("Log of raw").click()
        await expect(page.get_by_text("noise on stderr").first).to_be_visible()
        for words, choice, end in (("no", "Do not send it", "Second."), ("yes", "Send it once", "Third.")):
            await page.get_by_role("link", name="New chat").first.click()
            await ask(words)
            question = page.get_by_role("group", name="Question")
            await expect(question).to_contain_text("wants your model to answer this prompt")
            await expect(question).to_contain_text("<b>hello</b>.")
            before = len(client.model.requests)
            if words == "no":
                assert await violations(page) == []
            await question.get_by_role("button", name=choice).click()
            await expect(page.get_by_text(end, exact=True)).to_be_visible()
            assert len(client.model.requests) - before == (2 if words == "yes" else 1)


@proves("MCP-1/3")
async def test_a_server_that_fails_says_why_is_edited_writes_and_is_removed_with_its_data(tmp_path: Path) -> None:
    code = "Path('a.txt').write_text('by ' + os.environ['WHO']); Path('/home/sandbox/kept.txt').write_text('x')"
    async with at_the_page(tmp_path, replies=[call("raw__attempt", code=code), "Written."]) as (page, client):
        config = raw_server(tmp_path / "far")
        await open_settings(page)
        form = page.get_by_role("form", name="Add a server")
        await form.get_by_label("Name").fill("raw")
        await form.get_by_label("Program or address").fill("uvx-of-nobody " + " ".join(config["args"]))
        await form.get_by_label("Variables").fill("WHO=the server")
        await form.get_by_role("button", name="Add and test").click()
        servers = page.get_by_role("list", name="MCP servers", exact=True)
        await expect(servers).to_contain_text("The program 'uvx-of-nobody' of the MCP server 'raw' is not found")
        await page.get_by_role("button", name="Edit raw").click()
        edit = page.get_by_role("form", name="Edit raw")
        await expect(edit.get_by_label("Keep WHO")).to_be_checked()
        await edit.get_by_label("Program or address").fill(" ".join([config["command"], *config["args"]]))
        await edit.get_by_label("What it sees of the workspace").select_option("layer")
        await edit.get_by_label("Keep a folder of its own").check()
        assert await violations(page) == []
        await edit.get_by_role("button", name="Save and test").click()
        await expect(page.get_by_text("ready", exact=True)).to_be_visible()
        await expect(servers).to_contain_text("May change files of the workspace")
        assert "the server" not in await page.content()
        await page.get_by_role("link", name="New chat").first.click()
        await start_chat(page, "Write.")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("Written.", exact=True)).to_be_visible()
        assert (client.workspace / "a.txt").read_text() == "by the server"
        await open_settings(page)
        await page.get_by_role("button", name="Remove raw").click()
        await page.get_by_role("checkbox", name="Also delete what it has kept").check()
        assert await violations(page) == []
        await page.get_by_role("button", name="Remove", exact=True).click()
        await expect(page.get_by_text("No MCP servers yet")).to_be_visible()
        assert not (tmp_path / "data/mcp-data/raw").exists()
