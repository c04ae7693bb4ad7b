"""What fault tests share: the loaded process that their servers are forked from, and a server with a scripted model and a guest."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.cli_process import SOURCE
from support.fork_server import ForkServer, fork_server
from support.live_server import Caller
from support.scripted_model import ScriptedModel, serve_in_thread
from support.server import ChildServer, child_server


@pytest.fixture(scope="session")
def seed() -> Iterator[ForkServer]:
    if sys.platform != "linux":
        pytest.skip("looks into /proc, and holds Linux system calls")
    with fork_server(source=SOURCE) as seed:
        yield seed


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with serve_in_thread() as model:
        yield model


@pytest.fixture
def server(seed: ForkServer, tmp_path: Path, model: ScriptedModel) -> Iterator[ChildServer]:
    with child_server(seed, tmp_path, model_url=model.base_url) as server:
        yield server


@pytest.fixture
async def guest(server: ChildServer) -> AsyncIterator[Caller]:
    async with server.visit() as guest:
        yield guest
