"""Images and text files in a real browser: pasted and chosen, seen before they go, seen in the chat, and shown to the model."""

from base64 import b64encode

from playwright.async_api import Page, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import at_the_page, start_chat, violations
from support.images import png
from support.scripted_model import ScriptedModel
from support.spec import proves

PNG = png(120, 80)
PASTE = """([data, name]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], name, { type: "image/png" }));
  const paste = new ClipboardEvent("paste", { clipboardData: carried, bubbles: true, cancelable: true });
  document.getElementById("composer").dispatchEvent(paste);
}"""
IS_DRAWN = """async (image) => { await image.decode(); return [image.naturalWidth, image.naturalHeight]; }"""


@proves("UI-2", "UI-6")
async def test_an_image_is_pasted_and_chosen_sent_and_shown(tmp_path):
    async with ScriptedModel(["Hello.", "Two blue flags."]) as model:
        eyes = ProviderEntry(name="eyes", base_url=model.base_url, models=("gpt-4o",))
        async with at_the_page(tmp_path, providers=(eyes,), model="eyes/gpt-4o") as (page, _):
            await start_chat(page, "hello")
            await expect(page.get_by_text("Hello.")).to_be_visible()
            await page.evaluate(PASTE, [b64encode(PNG).decode(), "pasted.png"])
            await choose(page, "chosen.png")
            await expect(page.get_by_role("img", name="pasted.png")).to_be_visible()
            await expect(page.get_by_role("img", name="chosen.png")).to_be_visible()
            assert await violations(page) == []
            await page.get_by_label("Message", exact=True).fill("What are these?")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("Two blue flags.")).to_be_visible()
            await expect(page.get_by_role("list", name="Images to send")).to_be_hidden()
            await seen_in_the_chat(page)
            await page.reload()
            await seen_in_the_chat(page)
            shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"}}
            assert model.requests[-1]["messages"][-1]["content"][1:] == [shown, shown]


async def seen_in_the_chat(page: Page) -> None:
    for name in ("pasted.png", "chosen.png"):
        image = page.get_by_role("img", name=f"Image: {name}")
        await expect(image).to_be_visible()
        assert await image.evaluate(IS_DRAWN) == [120, 80]


@proves("UI-2", "UI-8")
async def test_a_text_file_is_taken_by_every_model_and_an_image_only_where_it_can_see(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello.", "One town."]) as (page, client):
        model = (await client.ask("GET", "/providers"))["providers"][0]
        blind = {"model_settings": {model["default_model"]: {"images": False}}}
        await client.ask("PATCH", f"/providers/{model['name']}", blind, expect=200)
        await page.reload()
        await start_chat(page, "hello")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await expect(page.get_by_role("button", name="Workflows")).to_be_visible()
        await choose(page, "chosen.png")
        await expect(page.get_by_text("This chat's model is not known to read images.")).to_be_visible()
        await expect(page.get_by_role("list", name="Images to send")).to_be_hidden()
        await choose(page, "towns.csv", "text/csv", b"city,people\nBonn,330000\n")
        await expect(page.get_by_role("button", name="Remove towns.csv")).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("How many towns?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("One town.")).to_be_visible()
        await expect(page.get_by_role("list", name="Files to send")).to_be_hidden()
        await page.get_by_role("button", name="towns.csv").click()
        await expect(page.get_by_label("Attached file towns.csv")).to_have_text("city,people\nBonn,330000")
        assert await violations(page) == []
        assert "```\ncity,people\nBonn,330000\n```" in client.model.requests[-1]["messages"][-1]["content"]


async def choose(page: Page, name: str, kind: str = "image/png", content: bytes = PNG) -> None:
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Attach files").click()
    await (await chooser.value).set_files({"name": name, "mimeType": kind, "buffer": content})
