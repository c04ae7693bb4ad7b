"""The real child with a real model, where both are there: `make model` brings them. Elsewhere it is skipped."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from anycowork.config.settings import default_data_dir
from anycowork.domain.model import ModelRequest, PromptMessage
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.local.folder import ModelFolder
from anycowork.providers.local.provider import LocalProvider
from anycowork.providers.local.supervisor import Supervisor, engine_installed
from support.provider_client import all_of, text_of, usage_of

MODELS = Path(os.environ.get("ANYCOWORK_TEST_MODELS") or default_data_dir() / "models")
READY = ModelFolder(MODELS).ready() if engine_installed() else []
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


@pytest.mark.skipif(not READY, reason="no local model here: make model")
@pytest.mark.timeout(600)
async def test_the_real_model_streams_within_the_schema_and_tells_its_usage(tmp_path: Path, pool: HttpPool):
    smallest = min(READY, key=lambda one: one.model.size_bytes)
    weights = replace(smallest, model=replace(smallest.model, context_tokens=512))
    supervisor = Supervisor(log=tmp_path / "log", idle_seconds=60.0, threads=1)
    local = LocalProvider(supervisor, lambda: [weights], pool)
    request = ModelRequest(
        weights.model.name, (PromptMessage("user", "Grass is"),), "turn", max_tokens=32, temperature=0.0
    )
    try:
        chunks = await all_of(local.answer(replace(request, schema=SCHEMA)))
    finally:
        await supervisor.aclose()
    assert json.loads(text_of(chunks))["colour"] in ("red", "green")
    usage = usage_of(chunks)
    assert usage is not None and usage.prompt > 0 and usage.completion > 0
    assert supervisor.loaded is None
