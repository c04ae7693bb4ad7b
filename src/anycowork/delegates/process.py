"""The delegate's program in the sandbox, with its pipes. It sees its own installation and the private copy, and nothing else of ours."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from pydantic import SecretStr

from anycowork.domain.agents import DelegateConfig
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.network import wanted_destinations
from anycowork.domain.values import value
from anycowork.mcp.program import find_program
from anycowork.mcp.server_launcher import ServerLauncher
from anycowork.sandbox.bubblewrap import VisiblePaths
from anycowork.sandbox.commit.transaction import Transaction
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import proxy_environment
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.stdio_program import LineLog, open_pipes, start_words, started_process

LONGEST_LINE = 20_000_000


@value
class DelegatePipes:
    """`ended` is set when the program is gone."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ended: asyncio.Event


@asynccontextmanager
async def delegate_process(
    config: DelegateConfig, launcher: ServerLauncher, sandbox: Sandbox, transaction: Transaction, log: LineLog
) -> AsyncIterator[DelegatePipes]:
    """Runs the program for the duration of the block, then ends it and its children. Raises: ToolFault, OSError."""
    values = {name: SecretStr(os.environ[name]) for name in config.environment if name in os.environ}
    described = McpServerConfig(name="agent", command=config.command, args=list(config.args), env=values)
    program = await asyncio.to_thread(find_program, described, launcher.data_dir)
    destinations = wanted_destinations(config.network)
    reach = NetworkReach(destinations, destinations) if destinations else None
    async with AsyncExitStack() as things:
        launch = things.enter_context(
            sandbox.launch(
                start_words(is_confined=False),
                transaction.jail.origin,
                transaction.stage,
                source=transaction.jail.layers,
                cache_kept=False,
                environment=proxy_environment(reach) if reach else None,
                held_back=reach is not None,
                sight=VisiblePaths(program.places, workspace=True, hidden=program.hidden),
                masks=transaction.covered.masks,
            )
        )
        launch.status.watch()
        things.push_async_callback(launch.status.all_gone)
        if reach is not None:
            await things.enter_async_context(launcher.egress.beside(launch, transaction.stage.runner, reach))
        process = things.enter_context(started_process(launch.argv, env={}, fds=launch.fds))
        pipes = await things.enter_async_context(open_pipes(process, log, longest_line=LONGEST_LINE))
        pipes.writer.write(program.first_line)
        yield DelegatePipes(pipes.output, pipes.writer, things.enter_context(_end_of(process.pid)))


@contextmanager
def _end_of(pid: int) -> Iterator[asyncio.Event]:
    """Set when the process ends: the protocol's connection does not notice a closed pipe while it waits for an answer."""
    end_event, loop, watched = asyncio.Event(), asyncio.get_running_loop(), os.pidfd_open(pid)
    loop.add_reader(watched, end_event.set)
    try:
        yield end_event
    finally:
        loop.remove_reader(watched)
        os.close(watched)
