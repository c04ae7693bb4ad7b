"""Opens a listening socket inside a sandbox's network, held by the server: the sandbox needs no program or socket file of ours."""

import asyncio
import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

from anycowork.sandbox.layers.staging_folders import Runner
from anycowork.sandbox.sandbox_process import SandboxFailed

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
