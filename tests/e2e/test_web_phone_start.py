"""The start page of a phone while its suggestions are open."""

from pathlib import Path

from e2e.browsing import at_the_page


async def test_the_button_that_sends_stays_in_view_while_suggestions_stand_above_the_field(tmp_path: Path) -> None:
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, _):
        await page.set_viewport_size({"width": 390, "height": 700})
        await page.get_by_label("Message", exact=True).fill("/")
        await page.get_by_role("option").first.wait_for()
        box = await page.get_by_role("button", name="Start", exact=True).bounding_box()
        assert box is not None and box["y"] + box["height"] <= 700
