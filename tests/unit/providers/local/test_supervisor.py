"""The child's life: started when needed, shared, restarted after a crash, ended when idle and with its server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from anycowork.domain.errors import Conflict
from anycowork.domain.model import ModelRequest, PromptMessage
from anycowork.domain.provider_errors import NoSuchModel, Unreachable
from anycowork.providers.config import ProviderConfig
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.local.catalogue import NotEnoughMemory
from anycowork.providers.local.folder import DownloadedModel
from anycowork.providers.local.provider import LocalProvider, local_config
from anycowork.providers.local.supervisor import Supervisor
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.passthrough import OnDemandLine, Passthrough, UpstreamLine
from anycowork.providers.registry import ProviderRegistry
from support.processes import ready_to_read
from support.provider_client import all_of, text_of
from unit.providers.local.conftest import small_model

STAND_IN = Path(__file__).with_name("stand_in_child.py")
COMMAND = (sys.executable, "-P", str(STAND_IN))


class Hands:
    """A clock that only moves when told."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def tool_context() -> Hands:
    return Hands()


@pytest.fixture
def weights(tmp_path: Path) -> DownloadedModel:
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    return DownloadedModel(small_model(), tmp_path / "small.gguf")


@pytest.fixture
async def supervisor(tmp_path: Path, tool_context: Hands) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(
        log=tmp_path / "log", idle_seconds=60.0, threads=1, command=COMMAND, monotonic=tool_context.monotonic
    )
    yield supervisor
    await supervisor.aclose()


def provider(supervisor: Supervisor, weights: DownloadedModel, pool: HttpPool) -> LocalProvider:
    return LocalProvider(supervisor, lambda: [weights], pool)


ASKING = ModelRequest("small", (PromptMessage("user", "hi"),), "turn")


async def test_the_first_request_starts_the_child_and_the_next_one_shares_it(supervisor, weights, pool):
    local = provider(supervisor, weights, pool)
    first = text_of(await all_of(local.answer(ASKING)))
    second = text_of(await all_of(local.answer(ASKING)))
    assert first == second and first.startswith("pid ")  # the stand-in says who it is
    assert supervisor.loaded == "small"


async def test_whoever_does_not_know_the_secret_is_refused(supervisor, weights, pool):
    async with supervisor.running(weights) as address:
        async with pool.session().get(f"{address.url}/v1/models") as response:
            assert response.status == 401
        assert address.secret not in repr(address)


async def test_an_idle_child_ends_and_a_used_one_stays(supervisor, weights, tool_context):
    async with supervisor.running(weights):
        tool_context.now += 1_000
        await supervisor.end_if_idle()
        assert supervisor.loaded == "small"
        with pytest.raises(Conflict, match="answering"):
            await supervisor.release()
    tool_context.now += 59
    await supervisor.end_if_idle()
    assert supervisor.loaded == "small"
    tool_context.now += 1
    await supervisor.end_if_idle()
    assert supervisor.loaded is None


async def test_another_model_waits_until_the_first_is_free(supervisor, weights):
    other = replace(weights, model=replace(weights.model, name="other"))
    got_other = asyncio.Event()

    async def use_other() -> None:
        async with supervisor.running(other):
            got_other.set()

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        async with supervisor.running(weights):
            tasks.create_task(use_other())
            await asyncio.sleep(0)
            assert not got_other.is_set()
        await got_other.wait()
    assert supervisor.loaded == "other"


async def test_a_child_that_died_is_started_anew_but_not_for_ever(supervisor, weights, pool):
    local = provider(supervisor, weights, pool)
    seen = set()
    for _ in range(3):
        pid = int(text_of(await all_of(local.answer(ASKING))).removeprefix("pid "))
        seen.add(pid)
        os.kill(pid, signal.SIGKILL)
        await _gone(supervisor)
    assert len(seen) == 3
    with pytest.raises(Unreachable, match="3 times"):
        await all_of(local.answer(ASKING))


async def test_a_child_that_cannot_load_says_where_to_look(tmp_path, weights):
    supervisor = Supervisor(
        log=tmp_path / "log", idle_seconds=60.0, command=(sys.executable, "-c", "raise SystemExit(3)")
    )
    with pytest.raises(Unreachable, match=r"while loading.*log"):
        async with supervisor.running(weights):
            pass
    assert supervisor.loaded is None


async def test_without_the_memory_nothing_is_started(supervisor, weights):
    greedy = replace(weights, model=replace(weights.model, memory_bytes=10**18))
    with pytest.raises(NotEnoughMemory):
        async with supervisor.running(greedy):
            pass


async def test_a_model_that_is_not_here_is_named_with_those_that_are(supervisor, weights, pool):
    with pytest.raises(NoSuchModel, match=r"'big'.*local/small"):
        await all_of(provider(supervisor, weights, pool).answer(replace(ASKING, model="big")))


@pytest.mark.skipif(sys.platform != "linux", reason="the parent's death is a signal on Linux only")
def test_a_child_dies_with_a_parent_that_is_killed():
    """Its standard input, which we hold open, is not what ends it."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdin and parent.stdout
    watched = os.pidfd_open(int(parent.stdout.readline()))
    try:
        parent.kill()
        parent.wait(60)
        assert ready_to_read(watched, seconds=60.0), "the child outlived its parent"
    finally:
        os.close(watched)
        parent.stdin.close()
        parent.stdout.close()


CHILD = """
import os, sys
from anycowork.providers.local.child import die_with
die_with(os.getppid())
print(os.getpid(), flush=True)
sys.stdin.read()
"""
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


async def _gone(supervisor: Supervisor) -> None:
    async with asyncio.timeout(60):
        while supervisor.loaded is not None:
            await asyncio.sleep(0.01)


async def test_the_passthrough_uses_the_servers_local_model_and_releases_it(supervisor, weights, tool_context):
    registry = ProviderRegistry(environment={})
    local = provider(supervisor, weights, registry.pool)
    registry.put_local(local_config([weights]), local)
    passthrough = Passthrough(registry, Timeouts())
    try:
        assert [entry["id"] for entry in await passthrough.models()] == ["small"]
        for model in ("small", None):  # by its name, and because nobody else is there
            line = passthrough.find(model)
            assert line is not None
            async with aclosing(await line.post("chat/completions", b"{}", [])) as answer:
                body = b"".join([piece async for piece in answer.pieces()])
            assert answer.status == 200 and b"pid " in body
        tool_context.now = 120.0
        await supervisor.end_if_idle()
        assert supervisor.loaded is None  # nobody holds it any more
    finally:
        await registry.aclose()


async def test_another_provider_stays_the_passthroughs_default_beside_the_local_model(supervisor, weights):
    there = ProviderConfig(name="there", kind="openai", base_url="http://127.0.0.1:1/v1", models=("big",))
    registry = ProviderRegistry([there], environment={})
    local = provider(supervisor, weights, registry.pool)
    registry.put_local(local_config([weights]), local)
    passthrough = Passthrough(registry, Timeouts())
    assert isinstance(passthrough.find("big"), UpstreamLine) and isinstance(passthrough.find("unknown"), UpstreamLine)
    assert isinstance(passthrough.find("small"), OnDemandLine)
    await registry.aclose()
