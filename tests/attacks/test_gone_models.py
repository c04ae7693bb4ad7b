"""A model whose server is gone: no other server is told what was meant for it, unless a person chose that one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.config.settings import ProviderEntry
from anycowork.domain.provider_errors import NoSuchModel
from anycowork.providers.config import ProviderConfig
from anycowork.providers.openai.passthrough import Passthrough, Timeouts
from anycowork.providers.registry import ProviderRegistry
from support.jobs import approved, plan, until
from support.live_server import LiveServer, RequestRefused, live_server
from support.scripted_model import ScriptedModel
from support.spec import proves

_NAMES = st.sampled_from(["acme", "home", "cloud", "ollama"])
_MODELS = st.sampled_from(["m", "acme/m", "home/m", "cloud/acme/m", "n"])
_CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _NAMES, st.lists(_MODELS, max_size=3)),
        st.tuples(st.just("drop"), _NAMES, st.just([])),
        st.tuples(st.just("choose"), _NAMES, st.lists(_MODELS, min_size=1, max_size=1)),
    ),
    max_size=6,
)


@proves("MOD-4/3")
@given(before=_CHANGES, after=_CHANGES, name=st.one_of(_NAMES, _MODELS, st.builds("{}/{}".format, _NAMES, _MODELS)))
def test_whatever_is_connected_and_removed_a_chosen_model_stays_with_its_server(
    before: list[tuple[str, str, list[str]]], after: list[tuple[str, str, list[str]]], name: str
) -> None:
    registry = ProviderRegistry(environment={})
    _apply(registry, before)
    try:
        chosen = registry.id_of(name)
    except NoSuchModel:
        return
    owner = registry.find(chosen)[0].name
    assert chosen.partition("/")[0] == owner
    _apply(registry, after)
    try:
        assert registry.find(chosen)[0].name == owner
    except NoSuchModel:
        assert registry.get(owner) is None


@proves("MOD-4/3")
@pytest.mark.parametrize("default", ["gone/m", "local/m", "ollama/m", "other/m"])
def test_a_default_that_is_gone_is_replaced_by_nobody(default: str) -> None:
    registry = ProviderRegistry([ProviderConfig("cloud", models=("gone/m", "m"))], default=default, environment={})
    with pytest.raises(NoSuchModel):
        registry.find(None)
    assert registry.lasting_id() is None
    with pytest.raises(NoSuchModel):
        Passthrough(registry, Timeouts()).find("unlisted")


def _apply(registry: ProviderRegistry, changes: list[tuple[str, str, list[str]]]) -> None:
    for act, name, models in changes:
        if act == "put":
            registry.put(ProviderConfig(name, base_url=f"http://{name}.test/v1", models=tuple(models)))
        elif act == "drop":
            registry.drop(name)
        else:
            registry.choose(f"{name}/{models[0]}")


@asynccontextmanager
async def _two_servers(folder: Path) -> AsyncIterator[tuple[LiveServer, ScriptedModel, ScriptedModel]]:
    """The second server lists what the first one has, under the name that it has here: as a server in between does."""
    async with ScriptedModel(["From the first."] * 3) as first, ScriptedModel(["From the second."] * 3) as second:
        entries = (
            ProviderEntry(name="second", base_url=second.base_url, models=("first/m", "m")),
            ProviderEntry(name="first", base_url=first.base_url, models=("m",)),
        )
        agents = {"worker": {"model": "first/m"}}
        async with live_server(folder, providers=entries, model="second/m", agents=agents) as client:
            yield client, first, second


@proves("MOD-4/3")
async def test_a_chat_whose_models_server_was_removed_says_so_and_asks_no_other(tmp_path: Path) -> None:
    async with _two_servers(tmp_path) as (client, first, second):
        named, whole = await client.chat(model="first/m"), await client.chat(model="first")
        await named.send("My secret plan.")
        assert len(first.requests) == 1
        await client.ask("DELETE", "/providers/first", expect=204)
        for chat in (named, whole):
            await chat.send("And now?")
            ended = (await chat.events())[-1]
            assert ended["reason"] == "failed" and ended["turn"]["error"]["code"] == "no_such_model"
            assert "no model server 'first' is connected" in (await chat.last())["content"]
        with pytest.raises(RequestRefused, match="no model server 'gone' is connected"):
            await client.chat(model="gone/m")
        assert second.requests == []
        await client.ask("PATCH", f"/context/{named.id}", {"model": "second/m"}, expect=200)
        await named.send("Go on there.")
        assert (await named.last())["content"] == "From the second."


@proves("MOD-4/3")
async def test_an_agents_task_goes_to_no_other_server_than_its_own(tmp_path: Path) -> None:
    async with _two_servers(tmp_path) as (client, first, second):
        await client.ask("DELETE", "/providers/first", expect=204)
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look at the files"}))
        ended = await until(client, chat, job["id"], "completed", "failed", "paused")
        assert ended["status"] == "failed" and (first.requests, second.requests) == ([], [])


@proves("MOD-4/3")
async def test_a_chat_opened_before_any_model_was_connected_stays_with_the_first_that_it_asked(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, model=None, providers=()) as client,
        ScriptedModel(["One."] * 2) as first,
        ScriptedModel(["Two."] * 2) as second,
    ):
        chat = await client.chat()
        await _connect(client, "first", first)
        await chat.send("My secret plan.")
        assert (await chat.show())["config"]["model_id"] == "first/m"
        await client.ask("DELETE", "/providers/first", expect=204)
        await _connect(client, "second", second)
        await chat.send("And now?")
        assert (await chat.events())[-1]["reason"] == "failed" and second.requests == []


async def _connect(client: LiveServer, name: str, model: ScriptedModel) -> None:
    await client.ask("POST", "/providers", {"name": name, "base_url": model.base_url, "models": ["m"]}, expect=201)
