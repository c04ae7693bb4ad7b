"""Providers that are found by themselves: from the environment, and local servers while they run."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from anycowork.providers.config import ProviderConfig
from anycowork.providers.discovery import LocalServer, LocalServerWatcher, from_environment
from anycowork.providers.registry import ProviderRegistry
from support.provider_client import SECRET
from support.scripted_model import ScriptedModel


@pytest.fixture
async def house() -> AsyncIterator[ProviderRegistry]:
    house = ProviderRegistry(environment={})
    yield house
    await house.aclose()


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, []),
        ({"OPENAI_API_KEY": " "}, []),
        ({"OPENAI_API_KEY": SECRET}, [("https://api.openai.com/v1", "OPENAI_API_KEY")]),
        ({"OPENAI_BASE_URL": "http://gpu:8000/v1"}, [("http://gpu:8000/v1", None)]),
        (
            {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": "http://gpu:8000/v1"},
            [("http://gpu:8000/v1", "OPENAI_API_KEY")],
        ),
    ],
)
def test_the_environment_names_a_provider(environment: dict[str, str], found: list[tuple[str, str | None]]):
    configs = from_environment(environment)
    assert [(config.base_url, config.api_key_env) for config in configs] == found
    assert SECRET not in repr(configs)


async def test_a_running_local_server_becomes_the_default_and_goes_when_it_is_gone(house: ProviderRegistry):
    async with ScriptedModel(models=["nomic-embed-text", "llama3.2"]) as model:
        watcher = LocalServerWatcher(house, servers=[LocalServer("ollama", model.base_url)], within=5.0)
        await watcher.refresh()
        provider, name = house.find(None)
        assert (provider.name, name) == ("ollama", "llama3.2")
        assert house.find("ollama/nomic-embed-text")[1] == "nomic-embed-text"
    await watcher.refresh()
    assert house.find(None)[0].name == "guide"


async def test_a_look_that_finds_nothing_new_keeps_the_client(house: ProviderRegistry):
    async with ScriptedModel(models=["m"]) as model:
        watcher = LocalServerWatcher(house, servers=[LocalServer("ollama", model.base_url)], within=5.0)
        await watcher.refresh()
        before = house.find("ollama/m")[0]
        await watcher.refresh()
        assert house.find("ollama/m")[0] is before


async def test_a_found_server_does_not_push_aside_what_a_person_configured():
    mine = ProviderConfig("ollama", base_url="http://127.0.0.1:9/v1", models=("mine",))
    house = ProviderRegistry([mine], environment={})
    async with ScriptedModel(models=["theirs"]) as model:
        await LocalServerWatcher(house, servers=[LocalServer("ollama", model.base_url)]).refresh()
    assert house.get("ollama") == mine
    await house.aclose()


async def test_something_else_on_the_port_is_no_provider(house: ProviderRegistry):
    async with ScriptedModel(models=[]) as model:
        not_there = model.base_url.removesuffix("/v1") + "/other"
        await LocalServerWatcher(
            house, servers=[LocalServer("a", model.base_url), LocalServer("b", not_there)]
        ).refresh()
    assert [entry["name"] for entry in house.describe()] == ["guide"]


async def test_looking_goes_on_until_it_is_stopped(house: ProviderRegistry):
    rounds = asyncio.Semaphore(0)
    go_on = asyncio.Event()

    async def sleep(seconds: float) -> None:
        rounds.release()
        await go_on.wait()

    async with asyncio.timeout(5), ScriptedModel(models=["m"]) as model, asyncio.TaskGroup() as tasks:
        watcher = LocalServerWatcher(house, servers=[LocalServer("ollama", model.base_url)], within=5.0, sleep=sleep)
        watching = tasks.create_task(watcher.watch())
        await rounds.acquire()
        assert house.find(None)[0].name == "ollama"
        watching.cancel()
