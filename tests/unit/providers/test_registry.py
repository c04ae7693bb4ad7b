"""Which provider answers for which name, and what people are told about each."""

from dataclasses import replace

import pytest

from anycowork.domain.errors import Invalid
from anycowork.domain.model import SMALL_MODEL, ModelOptions, ToolCallStyle
from anycowork.domain.provider_errors import BadKey, NoSuchModel, Unreachable
from anycowork.providers.config import ModelSettings, ProviderConfig
from anycowork.providers.guide.script import Guide
from anycowork.providers.registry import ProviderRegistry
from support.provider_client import SECRET, Naps, all_of, asking, text_of
from support.scripted_model import HttpError, ScriptedModel

ACME = ProviderConfig("acme", base_url="http://acme.test/v1", api_key_env="ACME_KEY", models=("small", "big/one"))
HOME = ProviderConfig("home", base_url="http://home.test/v1", models=("tiny",), context_tokens=4_096)
BARE = ProviderConfig("bare", base_url="http://bare.test/v1")


def registry(*configs: ProviderConfig, default: str | None = None, **environment: str) -> ProviderRegistry:
    return ProviderRegistry(configs, default=default, environment=environment, sleep=Naps())


@pytest.mark.parametrize(
    ("asked", "default", "provider", "model"),
    [
        (None, None, "acme", "small"),
        (None, "home/tiny", "home", "tiny"),
        (None, "bare", "bare", "auto"),
        ("acme/small", None, "acme", "small"),
        ("acme/unlisted", None, "acme", "unlisted"),
        ("acme/big/one", None, "acme", "big/one"),
        ("home", None, "home", "tiny"),
        ("home/", None, "home", "tiny"),
        ("tiny", None, "home", "tiny"),
        ("whatever", "home/tiny", "home", "whatever"),
        (None, "tiny", "home", "tiny"),
        (None, "whatever", "acme", "whatever"),
        (None, "Other/Small-7B", "acme", "Other/Small-7B"),
        ("guide", None, "guide", "guide"),
        ("guide/guide", None, "guide", "guide"),
    ],
)
def test_a_model_id_finds_its_provider(asked: str | None, default: str | None, provider: str, model: str):
    found, name = registry(ACME, HOME, BARE, default=default).find(asked)
    assert (found.name, name) == (provider, model)


@pytest.mark.parametrize(
    ("name", "model_id"),
    [
        ("big/one", "acme/big/one"),
        ("tiny", "home/tiny"),
        ("home", "home/tiny"),
        ("bare", "bare/auto"),
        ("whatever", "home/whatever"),
        ("Other/Small-7B", "home/Other/Small-7B"),
        ("acme/unlisted", "acme/unlisted"),
        ("guide", "guide/guide"),
    ],
)
def test_a_model_that_a_person_names_gets_its_provider_in_front(name: str, model_id: str):
    assert registry(ACME, HOME, BARE, default="home/tiny").id_of(name) == model_id


def test_with_nothing_configured_the_guide_answers():
    found, name = registry().find(None)
    assert (found.name, name) == ("guide", "guide")


@pytest.mark.parametrize("default", [None, "gone/model"])
def test_an_unknown_model_names_what_there_is(default: str | None):
    for look_up in (registry(default=default).find, registry(default=default).id_of):
        with pytest.raises(NoSuchModel, match="guide/guide"):
            look_up("gpt-9")


@pytest.mark.parametrize("configs", [(), (ACME,)])
def test_a_model_of_a_local_server_that_is_not_running_says_so(configs: tuple[ProviderConfig, ...]):
    with pytest.raises(NoSuchModel, match="Ollama is not running"):
        registry(*configs).find("ollama/llama3")


def test_context_is_the_providers_own():
    server = registry(ACME, HOME)
    assert [server.context_tokens(m) for m in ("home/tiny", "acme/small", "guide", None)] == [
        4_096,
        32_768,
        32_768,
        32_768,
    ]


def test_two_providers_of_one_name_are_refused():
    with pytest.raises(Invalid, match="two providers called 'acme'"):
        registry(ACME, ACME)


def test_no_one_else_can_take_the_guides_name():
    server = registry()
    with pytest.raises(Invalid, match="built-in provider"):
        server.put(ProviderConfig("guide", base_url="http://evil.test/v1"))
    assert server.upstreams() == []


@pytest.mark.parametrize(
    "fields", [{"name": "a/b"}, {"name": ""}, {"base_url": "acme.test"}, {"base_url": "https://me:pass@acme.test/v1"}]
)
def test_a_config_that_cannot_work_is_refused_without_repeating_secrets(fields: dict[str, str]):
    with pytest.raises(Invalid) as caught:
        ProviderConfig(**{"name": "acme", **fields})
    assert "pass@" not in str(caught.value)


def test_the_description_shows_state_and_way_out_and_no_secret():
    server = registry(ACME, HOME, ACME_KEY=SECRET)
    acme, home, guide = server.describe()
    assert acme == {
        "name": "acme",
        "kind": "openai",
        "base_url": "http://acme.test/v1",
        "models": ["small", "big/one"],
        "privacy": "anyone",
        "images": ["small", "big/one"],
        "no_images": [],
        "tries_images": True,
        "calling": "text",
        "model_settings": {},
        "default": True,
        "default_model": "small",
        "status": "not tested",
        "has_key": True,
        "hint": "Not used since the server started. Test it, or choose one of its models as acme/<model>.",
        "detail": None,
    }
    assert (home["default"], guide["default"], guide["base_url"]) == (False, False, None)
    assert "paste a key" in str(guide["hint"])
    assert SECRET not in str(server.describe()) and SECRET not in repr(server.upstreams())


def test_a_missing_key_is_said_by_its_variable():
    acme = registry(ACME).describe()[0]
    assert acme["status"] == "no key" and "ACME_KEY" in str(acme["hint"])


def test_a_default_that_does_not_exist_marks_no_one():
    assert [entry["default"] for entry in registry(default="gone/model").describe()] == [False]


async def test_the_state_follows_what_happened_last():
    async with ScriptedModel([HttpError(401), "fine"]) as model:
        config = ProviderConfig("acme", base_url=model.base_url)
        server = ProviderRegistry([config], environment={}, sleep=Naps())
        provider, _ = server.find(None)
        with pytest.raises(BadKey):
            await all_of(provider.answer(asking()))
        assert server.describe()[0]["status"] == "key refused"
        assert text_of(await all_of(provider.answer(asking()))) == "fine"
        assert server.describe()[0]["status"] == "ready"
    with pytest.raises(Unreachable):
        await all_of(provider.answer(asking()))
    assert server.describe()[0]["status"] == "unreachable"
    await server.aclose()


async def test_a_key_that_changes_is_used_at_once():
    environment = {"ACME_KEY": "first"}
    async with ScriptedModel(["a", "b"]) as model:
        config = ProviderConfig("acme", base_url=model.base_url, api_key_env="ACME_KEY")
        server = ProviderRegistry([config], environment=environment)
        provider, _ = server.find("acme/m")
        await all_of(provider.answer(asking()))
        environment["ACME_KEY"] = "second"
        await all_of(provider.answer(asking()))
        await server.aclose()
    assert [headers["Authorization"] for headers in model.headers] == ["Bearer first", "Bearer second"]


def test_the_passthrough_learns_where_to_go():
    server = registry(BARE, ACME, default="acme/small", ACME_KEY=SECRET)
    (upstream, models), (other, _) = server.upstreams()
    assert (upstream.url("embeddings"), models) == ("http://acme.test/v1/embeddings", ACME.models)
    assert upstream.headers() == {"Authorization": f"Bearer {SECRET}"}
    assert (other.name, other.headers()) == ("bare", {})
    assert registry().upstreams() == []


def test_the_local_model_answers_where_no_one_else_is_and_gives_way_to_whoever_comes():
    server = registry()
    own, config = Guide(), ProviderConfig("local", kind="local", models=("tiny",))
    server.put_local(config, own)
    assert server.find(None) == (own, "tiny") and server.find("local/tiny") == (own, "tiny")
    assert server.upstreams() == []  # the passthrough leads to servers alone
    server.put(HOME)
    assert server.find(None)[0].name == "home"
    assert [one["name"] for one in server.describe()] == ["home", "local", "guide"]
    server.drop("local")
    assert [one["name"] for one in server.describe()] == ["home", "guide"]


def test_options_are_the_models_own():
    wanted = ModelOptions(calling=ToolCallStyle.SCHEMA, brief=True)
    server = registry(replace(HOME, options=wanted))
    assert (
        server.options("home/tiny") == replace(wanted, images=True, tries_images=True)
        and server.options("guide") == ModelOptions()
    )


@pytest.mark.parametrize(
    ("model", "small"),
    [
        ("qwen2.5-coder:1.5b", True),
        ("llama3.2:3b-instruct-q4_K_M", True),
        ("google/gemma-3-4b-it", True),
        ("smollm2:360m", True),
        ("qwen3-30b-a3b", False),
        ("mixtral-8x7b", False),
        ("llama-3.1-8b-instruct-4bit", False),
        ("gpt-4o-mini", False),
        ("phi-4b2", False),
    ],
)
def test_model_whose_name_says_that_it_is_small_gets_the_options_of_one(model: str, small: bool):
    server = registry(replace(HOME, models=(model,)))
    assert server.options(f"home/{model}").brief is small
    expected = SMALL_MODEL if small else ModelOptions()
    assert replace(server.options(f"home/{model}"), images=False, tries_images=False) == expected


def test_what_a_person_said_of_a_model_comes_before_its_name():
    never = registry(replace(HOME, models=("tiny-1b",), small_by_name=False))
    assert not never.options("home/tiny-1b").brief
    native = registry(replace(HOME, models=("tiny-1b",), options=ModelOptions(calling=ToolCallStyle.NATIVE)))
    assert native.options("home/tiny-1b").calling is ToolCallStyle.NATIVE
    own = {"tiny-1b": ModelSettings(calling=ToolCallStyle.TEXT)}
    assert (
        registry(replace(HOME, models=("tiny-1b",), model_settings=own)).options("home/tiny-1b").calling
        is ToolCallStyle.TEXT
    )


def test_a_worker_answers_with_its_own_model_where_it_does_not_know_the_servers_name_for_one():
    worker = ProviderRegistry([ACME, HOME], default="home/tiny", environment={}, is_worker=True)
    found = {name: worker.find(name)[0].name for name in ("scripted/m", "acme/small", None)}
    assert found == {"scripted/m": "home", "acme/small": "acme", None: "home"}
