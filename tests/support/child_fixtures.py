"""Fixtures for tests of a server in its own process: the loaded process that forks it, a scripted model, the server and a client of it."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.cli_process import SOURCE
from support.fork_server import ForkServer, start_fork_server
from support.live_server import Caller
from support.scripted_model import ScriptedModel, serve_in_thread
from support.server import ChildServer, child_server


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    if sys.platform != "linux":
        pytest.skip("reads /proc and holds Linux system calls")
    with start_fork_server(source=SOURCE) as fork_server:
        yield fork_server


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with serve_in_thread() as model:
        yield model


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path, model: ScriptedModel) -> Iterator[ChildServer]:
    with child_server(fork_server, tmp_path, model_url=model.base_url) as server:
        yield server


@pytest.fixture
async def client(server: ChildServer) -> AsyncIterator[Caller]:
    async with server.connect() as client:
        yield client
