"""A large change in a small window: read as a whole, and taken back as a whole."""

from playwright.async_api import expect

from e2e.browsing import PHONE, allow_all, at_the_page, start_chat, violations
from support.scripted_model import call
from support.spec import proves

LAPTOP = {"width": 1280, "height": 720}
PATHS = [f"src/module_{number:02}/service.py" for number in range(40)]
FILES = {path: "".join(f"def f{n}(x):\n    return x + {n}\n\n" for n in range(20)) for path in PATHS}


def change(path: str) -> str:
    return call("update_file", path=path, edits=[{"find": "return x + 3\n", "replace": "return x * 3\n"}])


MIDDLES = """(list) => {
  const texts = document.createTreeWalker(list, NodeFilter.SHOW_TEXT), middles = [];
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    middles.push((box.top + box.bottom) / 2);
  }
  return middles;
}"""
BATCHES = ["\n".join(map(change, PATHS[start : start + 20])) for start in (0, 20)]


@proves("UI-3", "UI-5", "UI-6")
async def test_a_change_of_forty_files_is_read_by_keyboard_and_taken_back_at_once(tmp_path):
    async with at_the_page(tmp_path, replies=[*BATCHES, "Done."], files=FILES, viewport=LAPTOP) as (page, client):
        await start_chat(page, "Multiply everywhere")
        for first in (0, 20):
            place = page.get_by_label("Approvals").get_by_role("status")
            await expect(place).to_have_text(f"1 of 20: Change {PATHS[first]}")
            await page.get_by_role("button", name="Next call").click()
            await expect(place).to_have_text(f"2 of 20: Change {PATHS[first + 1]}")
            await allow_all(page, 20)
        await expect(page.get_by_label("Changed in this turn")).to_contain_text("40 files changed")
        await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        names = page.get_by_label("Changed in this turn").get_by_title(PATHS[0], exact=False).first
        lines = await names.evaluate(MIDDLES)
        assert max(lines) - min(lines) < 4, "what separates the names stands in their line"
        await page.set_viewport_size({"width": LAPTOP["width"], "height": LAPTOP["height"]})
        await page.get_by_role("button", name="Review").click()
        files = page.get_by_role("listbox", name="Changed files")
        await expect(files).to_be_focused()
        await page.keyboard.press("ArrowDown")
        await expect(page.get_by_label(f"Changes of {PATHS[1]}")).to_contain_text("return x * 3")
        await page.keyboard.press("End")
        await expect(files.get_by_role("option", name=PATHS[-1])).to_be_in_viewport()
        await expect(page.get_by_text("3 of 40 reviewed")).to_be_visible()
        assert await violations(page) == []
        await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        await expect(page.get_by_role("dialog").get_by_role("button", name="Close").last).to_be_in_viewport()
        assert await violations(page) == []
        await page.set_viewport_size({"width": LAPTOP["width"], "height": LAPTOP["height"]})
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Review")).to_be_focused()
        await page.get_by_role("button", name="Checkpoints").click()
        await page.get_by_role("button", name="Restore to before all 40").click()
        back = page.get_by_role("dialog").get_by_role("button", name="Restore", exact=True)
        await expect(back).to_be_in_viewport(ratio=1)
        await back.click()
        await expect(page.get_by_text("Files were restored to an earlier state")).to_be_visible()
    assert {path: (client.workspace / path).read_text() for path in PATHS} == FILES
