"""Gives one call network access: a command through its own proxy on the loopback of its own network, for as long as it runs."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from anycowork.sandbox.layers.staging_folders import Runner
from anycowork.sandbox.network.dialer import CheckedDialer, Network, NetworkReach, NetworkReport, RealNetwork
from anycowork.sandbox.network.proxy import ProxyLimits, SandboxProxy
from anycowork.sandbox.sandbox import Launch
from anycowork.sandbox.sandbox_process import SandboxFailed

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


PROXY_PORT = 3128  # in a separate network, where the port is always free
_WORKER = Path(__file__).with_name("netns_worker.py")
_SECONDS = 15.0


async def listening_in(pid: int, namespace: int, runner: Runner) -> socket.socket:
    """Listens on `PROXY_PORT` in the network of this sandbox process, if it is `namespace` and not ours.

    Raises: SandboxFailed; FileNotFoundError if the process has ended already.
    """
    with ExitStack() as things:
        try:
            network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError as error:
            raise _failed(error.strerror or "not allowed") from None
        things.callback(os.close, network)
        inode = os.fstat(network).st_ino
        if inode != namespace or inode == os.stat("/proc/self/ns/net").st_ino:  # noqa: PTH116 (of memory, not of a disk)
            raise _failed("it has no separate network")
        ours, theirs = socket.socketpair()
        things.enter_context(ours)
        things.enter_context(theirs)
        await _run_worker(network, theirs, runner)
        ours.setblocking(False)
        try:
            _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        except BlockingIOError:
            raise _failed("no socket came back") from None
        listening = socket.socket(fileno=fds[0])
        listening.setblocking(False)
        return listening


async def _run_worker(network: int, theirs: socket.socket, runner: Runner) -> None:
    arguments = (network, theirs.fileno(), PROXY_PORT, runner.uid, runner.gid)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_WORKER), *map(str, arguments)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env={},
        pass_fds=(network, theirs.fileno()),
    )
    try:
        async with asyncio.timeout(_SECONDS):
            _, errors = await process.communicate()
    except TimeoutError:
        raise _failed("it took too long") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["it ended without a message"]
        raise _failed(last[0][:300])


def _failed(reason: str) -> SandboxFailed:
    return SandboxFailed(
        f"The network of the command's sandbox could not be opened ({reason}), so the command did not run."
    )
