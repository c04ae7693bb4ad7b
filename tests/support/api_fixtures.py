"""Fixtures for tests that send HTTP requests to a whole server in this process: real store, real files, a model whose answers the test writes."""

from dataclasses import replace
from pathlib import Path

import pytest

from anycowork.api.application import create_api
from anycowork.app import RunningServer, start_services
from anycowork.config.settings import ProviderEntry, Settings
from anycowork.server.services import Services
from support.asgi import Client
from support.scripted_model import ScriptedModel
from support.stored import put_fresh_database

TOKEN = "a-token-for-tests-0123456789abcdef"


@pytest.fixture
def token() -> str:
    return TOKEN


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
async def model():
    async with ScriptedModel() as model:
        yield model


@pytest.fixture
def sleeps() -> list[float]:
    """How long wrong tokens would have waited; nothing really sleeps."""
    return []


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return put_fresh_database(tmp_path_factory.mktemp("migrated"))


@pytest.fixture
async def server(tmp_path, workspace, model):
    put_fresh_database(tmp_path / "data")
    settings = Settings(
        data_dir=tmp_path / "data",
        workspace=workspace,
        token=TOKEN,
        model="scripted/scripted",
        providers=(ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",)),),
        probe_local_servers=False,
        person_commands="off",  # requests made up by a machine must not run anything
    )
    async with start_services(settings, token=TOKEN) as server:
        yield server


@pytest.fixture
def services(server: RunningServer, sleeps: list[float]) -> Services:
    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)

    return replace(server.services, access=replace(server.services.access, sleep=sleep))


@pytest.fixture
def client(services: Services) -> Client:
    """The owner, with the token."""
    return Client(create_api(services), token=TOKEN)


@pytest.fixture
def anonymous(client: Client) -> Client:
    """The same server, asked without a token."""
    return Client(client.app)
