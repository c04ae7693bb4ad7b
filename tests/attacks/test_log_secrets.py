"""Attempts to read a key or a token in the log, whoever writes it there: a library, an exception, a server that repeats what it was sent."""

import asyncio
import io
import json
import logging
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from anycowork.app import serve
from anycowork.config.settings import ProviderEntry, Settings
from anycowork.server.data_folder import ServerInfo
from anycowork.telemetry.server_log import HIDDEN, LogSecrets
from support.attempts import Attempts
from support.live_server import TIMEOUT, TOKEN, Caller
from support.scripted_model import ScriptedModel

OF_ENVIRONMENT = "key.without.any-known.shape"
PASTED = "pasted:0123456789abcdef"
OF_MCP_HEADER, OF_MCP_PROGRAM = "header-value-of-an-mcp-server", "value-for-an-mcp-program"


async def secrets_of(client: Caller, model: ScriptedModel) -> dict[str, str]:
    """Gives the server one secret of each kind, the way people do."""
    provider = {"name": "office", "base_url": model.base_url, "models": ["scripted"]}
    await client.ask("POST", "/providers", {**provider, "api_key": PASTED}, expect=201)
    remote = {"name": "remote", "url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": OF_MCP_HEADER}, "enabled": False}
    program = {"name": "program", "command": "/bin/true", "env": {"KEY": OF_MCP_PROGRAM}, "enabled": False}
    await client.ask("POST", "/mcp/servers", remote, expect=201)
    await client.ask("POST", "/mcp/servers", program, expect=201)
    person = await client.ask("POST", "/people", {"name": "Mia", "access": "member"}, expect=201)
    key = await client.ask("POST", "/keys", {"name": "editor"}, expect=201)
    return {
        "the owner's token": TOKEN,
        "a person's token": person["token"],
        "a client key": key["key"],
        "a key of the environment": OF_ENVIRONMENT,
        "a pasted key": PASTED,
        "a header for an MCP server": OF_MCP_HEADER,
        "a variable for an MCP program": OF_MCP_PROGRAM,
    }


@pytest.mark.parametrize("log_format", ["json", "text"])
async def test_no_secret_of_the_server_stands_in_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempts: Attempts, log_format: str
) -> None:
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setenv("LAB_KEY", OF_ENVIRONMENT)
    lab = ProviderEntry(name="lab", base_url="http://127.0.0.1:9/v1", api_key_env="LAB_KEY", models=("m",))
    settings = Settings(
        data_dir=tmp_path, port=0, token=TOKEN, probe_local_servers=False, providers=(lab,), log_format=log_format
    )
    ready: asyncio.Future[ServerInfo] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(settings, ready=lambda info, _: ready.set_result(info)))  # ended below
    try:
        async with asyncio.timeout(TIMEOUT):
            await asyncio.wait([serving, ready], return_when=asyncio.FIRST_COMPLETED)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            ScriptedModel(mind=lambda body: "OK") as model,
            aiohttp.ClientSession(headers=headers) as session,
        ):
            known = await secrets_of(Caller(ready.result().url, session), model)

        def logged(kind: str) -> None:
            before = len(written.getvalue())
            secret = known[kind]
            logging.getLogger("a.library").warning("headers: %r, address: https://x/?k=%s", {"key": secret}, secret)
            try:
                raise ValueError(f"refused {secret}")
            except ValueError:
                logging.getLogger("anycowork.test").exception("with %s", secret)
            text = written.getvalue()[before:]
            assert secret not in text and json.dumps(secret)[1:-1] not in text
            assert text.count(HIDDEN) == 4 and "refused" in text

        await attempts.each([*known], logged)
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer abcdefghijkl.mnop",
        "tried sk-ant-api03-0123456789abcdef and failed",
        "(sk-proj-0123456789_abcdef)",
        "key=gsk_0123456789abcdef",
        "remote: ghp_0123456789abcdefghij",
        "https://user:pass0rd@proxy.example:3128/ did not answer",
        "AKIA0123456789ABCDEF",
        "Basic dXNlcjpwYXNzd29yZA==",
    ],
)
def test_what_looks_like_a_key_is_left_out_without_being_known(line: str) -> None:
    shown = LogSecrets().star_out(line)
    assert HIDDEN in shown
    for secret in ("abcdefghijkl", "0123456789", "pass0rd", "dXNlcjpwYXNz"):
        assert secret not in shown


def test_words_stay_and_one_secret_may_begin_another() -> None:
    line = "the task-0123456789abc of 'ollama' failed: basic authentication, bearer token, http://host:80/a@b"
    assert LogSecrets("ollama", "").star_out(line) == line
    assert LogSecrets("password", "password-and-more").star_out("password-and-more") == HIDDEN
