"""The protocol's official conformance suite against `anycowork mcp --http` and against our client, in both generations of the protocol.

Most scenarios call tools, resources and prompts that a server made for the suite has (`test_simple_text`, `test://static-text`, …);
they say nothing of a server with tools of its own, and are not run. Those that hold for every server are. `server-stateless` is not among
them: 26 of its 28 checks pass, and the other two need the suite's own tool `test_missing_capability`.

Of the scenarios for clients, those of signing in are not run here (a person does it in a browser: `test_mcp_sign_in.py`), nor those that
want a client to answer a question or to echo a schema on its own. `sep-2322-client-request-state` passes its five checks, but the SDK
refuses the last answer, which has no `resultType`.
"""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from support.cli_process import CommandLine
from support.live_server import TOKEN
from support.ports import held_port
from support.real_mcp_servers import PACKAGES, install_servers, node
from support.spec import proves
from support.token_proxy import token_proxy

STABLE, NEXT = "conformance", "conformance-next"  # the released suite, and the one that knows the stateless protocol
SHORT = [
    (STABLE, "server-initialize", ()),
    (NEXT, "tools-list", ("--spec-version", "2026-07-28")),
]
LIFECYCLE = ("server-initialize", "server-session-lifecycle", "ping", "tools-list")
MORE = [
    *((STABLE, name, ()) for name in ("ping", "tools-list", "tools-call-error", "server-sse-multiple-streams")),
    *((STABLE, name, ()) for name in ("resources-list", "prompts-list", "dns-rebinding-protection")),
    *((NEXT, name, ("--spec-version", "2025-11-25")) for name in LIFECYCLE),
    *(
        (NEXT, name, ("--spec-version", "2026-07-28"))
        for name in (
            "server-sse-multiple-streams",
            "dns-rebinding-protection",
            "caching",
            "http-header-validation",
            "input-required-result-unsupported-methods",
            "sep-2164-resource-not-found",
            "resources-list",
            "prompts-list",
        )
    ),
]
CLIENT_SHORT = [(STABLE, "initialize", ()), (NEXT, "tools_call", ("--spec-version", "2026-07-28"))]
CLIENT_MORE = [
    *((STABLE, name, ()) for name in ("tools_call", "sse-retry")),
    *(
        (NEXT, name, ("--spec-version", "2026-07-28"))
        for name in (
            "request-metadata",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
        )
    ),
]
IS_WHOLE = "ANYCOWORK_ALL_MCP_SERVERS" in os.environ
SCENARIOS = SHORT + MORE if IS_WHOLE else SHORT
CLIENT_SCENARIOS = CLIENT_SHORT + CLIENT_MORE if IS_WHOLE else CLIENT_SHORT
SOURCE = Path(__file__).parents[2] / "src"
CLIENT = Path(__file__).parents[1] / "support" / "conformance_client.py"
LONG = pytest.mark.timeout(900 if IS_WHOLE else 240)


@proves("MCP-3/3")
@LONG
async def test_the_server_passes_the_official_suite_in_both_generations(tmp_path: Path) -> None:
    await asyncio.to_thread(install_servers)
    line, failed = CommandLine(tmp_path), {}
    with held_port() as port:
        words = ("mcp", "--http", str(port), "--workspace", str(line.workspace))
        process = line.start(*words, ANYCOWORK_TOKEN=TOKEN, HOME=str(tmp_path))
        try:
            assert process.stderr is not None
            assert "MCP on" in await asyncio.to_thread(process.stderr.readline)
            async with token_proxy(f"http://127.0.0.1:{port}", TOKEN) as proxy:
                for suite, scenario, more in SCENARIOS:
                    url = f"http://127.0.0.1:{proxy}/mcp"
                    status, output = await run_suite(suite, "server", "--url", url, "--scenario", scenario, *more)
                    if status != 0:
                        failed[suite, scenario, more] = output[-3_000:]
        finally:
            process.terminate()
            await asyncio.to_thread(process.communicate)
    assert not failed, "\n\n".join(f"{name}\n{output}" for name, output in failed.items())


@proves("MCP-1/1")
@LONG
async def test_the_client_passes_the_official_suite_in_both_generations() -> None:
    await asyncio.to_thread(install_servers)
    command, failed = shlex.join(["env", f"PYTHONPATH={SOURCE}", sys.executable, str(CLIENT)]), {}
    for suite, scenario, more in CLIENT_SCENARIOS:
        words = ("client", "--command", command, "--timeout", "60000", "--scenario", scenario, *more)
        status, output = await run_suite(suite, *words)
        if status != 0:
            failed[suite, scenario, more] = output[-3_000:]
    assert not failed, "\n\n".join(f"{name}\n{output}" for name, output in failed.items())


async def run_suite(suite: str, *words: str) -> tuple[int, str]:
    program = str(PACKAGES / suite / "dist" / "index.js")
    process = await asyncio.create_subprocess_exec(
        node(), program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(90):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode(errors="replace")
