"""The protocol's official conformance suite against `anycowork mcp --http`, in both generations of the protocol.

Most scenarios call tools, resources and prompts that a server made for the suite has (`test_simple_text`, `test://static-text`, …);
they say nothing of a server with tools of its own, and are not run. Those that hold for every server are. `server-stateless` is not among
them: 26 of its 28 checks pass, and the other two need the suite's own tool `test_missing_capability`.
"""

import asyncio
import os
from pathlib import Path

from support.cli_process import CommandLine
from support.live_server import TOKEN
from support.real_mcp_servers import PACKAGES, free_port, install_servers, node
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
SCENARIOS = SHORT + MORE if "ANYCOWORK_ALL_MCP_SERVERS" in os.environ else SHORT


@proves("MCP-3/3")
async def test_the_server_passes_the_official_suite_in_both_generations(tmp_path: Path) -> None:
    await asyncio.to_thread(install_servers)
    port, line = free_port(), CommandLine(tmp_path)
    words = ("mcp", "--http", str(port), "--workspace", str(line.workspace))
    process = line.start(*words, ANYCOWORK_TOKEN=TOKEN, HOME=str(tmp_path))
    try:
        assert process.stderr is not None
        assert "MCP on" in await asyncio.to_thread(process.stderr.readline)
        await listening(port)
        async with token_proxy(f"http://127.0.0.1:{port}", TOKEN) as proxy:
            failed = {}
            for suite, scenario, more in SCENARIOS:
                status, output = await run_scenario(suite, scenario, f"http://127.0.0.1:{proxy}/mcp", *more)
                if status != 0:
                    failed[suite, scenario, more] = output[-3_000:]
        assert not failed, "\n\n".join(f"{name}\n{output}" for name, output in failed.items())
    finally:
        process.terminate()
        await asyncio.to_thread(process.communicate)


async def run_scenario(suite: str, scenario: str, url: str, *more: str) -> tuple[int, str]:
    words = [str(PACKAGES / suite / "dist" / "index.js"), "server", "--url", url, "--scenario", scenario, *more]
    process = await asyncio.create_subprocess_exec(
        node(), *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode(errors="replace")


async def listening(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0)
                continue
            writer.close()
            return
