"""Gives one call network access: a command through its own proxy on the loopback of its own network, for as long as it runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from anycowork.sandbox.layers.staging_folders import Runner
from anycowork.sandbox.network.connections import Network, RealNetwork
from anycowork.sandbox.network.dialer import CheckedDialer, NetworkReach, NetworkReport
from anycowork.sandbox.network.netns import PROXY_PORT, listening_in
from anycowork.sandbox.network.proxy import ProxyLimits, SandboxProxy
from anycowork.sandbox.sandbox import Launch

_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


class Egress:
    """Starts the proxies of commands. `outside` is the network that they connect to."""

    def __init__(self, outside: Network | None = None, limits: ProxyLimits | None = None) -> None:
        self._outside = outside or RealNetwork()
        self._limits = limits or ProxyLimits()

    def dialer(self, reach: NetworkReach, report: NetworkReport) -> CheckedDialer:
        """Returns the way to these destinations for a tool of the server's own."""
        return CheckedDialer(reach, self._outside, report, seconds=self._limits.connect_seconds)

    @asynccontextmanager
    async def beside(
        self, launch: Launch, runner: Runner, reach: NetworkReach, may_send: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[NetworkReport]:
        """Lets the command reach these destinations while the block runs and it `may_send`; starts it once the proxy is ready.

        Raises: ToolFault.
        """
        proxy = SandboxProxy(reach, self._outside, self._limits, may_send)
        try:
            async with asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(_serve(proxy, launch, runner))
                try:
                    yield proxy.report
                finally:
                    serving.cancel()
        except ExceptionGroup as several:
            raise several.exceptions[0] from None


def proxy_environment(reach: NetworkReach) -> dict[str, str]:
    """Returns the variables that programs look for. Servers that the command starts are reached directly."""
    url = f"http://127.0.0.1:{PROXY_PORT}"
    variables = {name: url for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (upper, upper.lower())}
    direct = _direct([destination.host for destination in reach.allowed])
    return variables | dict.fromkeys(("NO_PROXY", "no_proxy"), direct)


async def _serve(proxy: SandboxProxy, launch: Launch, runner: Runner) -> None:
    pid, network = await launch.status.started()
    try:
        listening = await listening_in(pid, network, runner)
    except (FileNotFoundError, ProcessLookupError):
        return  # it ended before it began; its starter reports why
    with listening:
        launch.let_go()
        await proxy.serve(listening)


def _direct(hosts: Sequence[str]) -> str:
    return ",".join(name for name in _LOCAL_NAMES if name not in hosts)
