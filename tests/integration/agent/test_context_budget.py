"""A model whose tokens are smaller than we took them for is shown less once its answers said so."""

from pathlib import Path

import pytest

from anycowork.config.settings import ProviderEntry
from support.live_server import live_server
from support.scripted_model import Reply, ScriptedModel
from support.spec import proves

OLD = "word " * 800


@proves("CTX-1")
@pytest.mark.parametrize(("reported", "shown"), [(10, True), (40_000, False)], ids=["as estimated", "far more"])
async def test_what_is_shown_fits_by_what_the_model_reports(tmp_path: Path, reported: int, shown: bool) -> None:
    usage = {"prompt_tokens": reported, "completion_tokens": 1}
    async with ScriptedModel([Reply("Yes.", usage=usage)] * 3) as model:
        entry = ProviderEntry(name="odd", base_url=model.base_url, models=("m",), context_tokens=6_000)
        async with live_server(tmp_path, providers=(entry,), model="odd/m") as client:
            chat = await client.chat()
            for text in (f"{OLD} first", "and the second", "and the third"):
                await chat.send(text)
    assert (OLD in str(model.requests[-1]["messages"])) is shown
    assert "and the third" in str(model.requests[-1]["messages"])
