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
async def server() -> AsyncIterator[ProviderRegistry]:
    server = ProviderRegistry(environment={})
    yield server
    await server.aclose()


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


async def test_a_running_local_server_becomes_the_default_and_goes_when_it_is_gone(server: ProviderRegistry):
    async with ScriptedModel(models=["nomic-embed-text", "llama3.2"]) as model:
        watcher = LocalServerWatcher(server, servers=[LocalServer("ollama", model.base_url)], within=5.0)
        await watcher.refresh()
        provider, name = server.find(None)
        assert (provider.name, name) == ("ollama", "llama3.2")
        assert server.find("ollama/nomic-embed-text")[1] == "nomic-embed-text"
    await watcher.refresh()
    assert server.find(None)[0].name == "guide"


async def test_a_look_that_finds_nothing_new_keeps_the_client(server: ProviderRegistry):
    async with ScriptedModel(models=["m"]) as model:
        watcher = LocalServerWatcher(server, servers=[LocalServer("ollama", model.base_url)], within=5.0)
        await watcher.refresh()
        before = server.find("ollama/m")[0]
        await watcher.refresh()
        assert server.find("ollama/m")[0] is before


async def test_a_found_server_does_not_push_aside_what_a_person_configured():
    mine = ProviderConfig("ollama", base_url="http://127.0.0.1:9/v1", models=("mine",))
    server = ProviderRegistry([mine], environment={})
    async with ScriptedModel(models=["theirs"]) as model:
        await LocalServerWatcher(server, servers=[LocalServer("ollama", model.base_url)]).refresh()
    assert server.get("ollama") == mine
    await server.aclose()


async def test_something_else_on_the_port_is_no_provider(server: ProviderRegistry):
    async with ScriptedModel(models=[]) as model:
        not_there = model.base_url.removesuffix("/v1") + "/other"
        await LocalServerWatcher(
            server, servers=[LocalServer("a", model.base_url), LocalServer("b", not_there)]
        ).refresh()
    assert [entry["name"] for entry in server.describe()] == ["guide"]


async def test_looking_goes_on_until_it_is_stopped(server: ProviderRegistry):
    rounds = asyncio.Semaphore(0)
    go_on = asyncio.Event()

    async def sleep(seconds: float) -> None:
        rounds.release()
        await go_on.wait()

    async with asyncio.timeout(60), ScriptedModel(models=["m"]) as model, asyncio.TaskGroup() as tasks:
        watcher = LocalServerWatcher(server, servers=[LocalServer("ollama", model.base_url)], within=5.0, sleep=sleep)
        watching = tasks.create_task(watcher.watch())
        await rounds.acquire()
        assert server.find(None)[0].name == "ollama"
        watching.cancel()
