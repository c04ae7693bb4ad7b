"""The child process that runs the model: llama.cpp's server on a loopback port, protected by a secret.

The supervisor starts it; the server never imports it. It reads one line of JSON (how to run), writes one (where it listens), and ends when
its standard input closes or its parent dies.
"""

import ctypes
import json
import os
import signal
import sys
from typing import TextIO

PR_SET_PDEATHSIG = 1


def main() -> int:
    parent = os.getppid()
    die_with(parent)
    to_parent = _own_stdout()
    options = json.loads(sys.stdin.readline())  # noqa: TID251  # our own process wrote it
    address = _serve(options)
    to_parent.write(json.dumps({"address": address}) + "\n")
    to_parent.flush()
    sys.stdin.read()  # until the parent closes it
    os._exit(0)  # the engine's threads have nothing to save


def die_with(parent: int) -> None:
    """Makes the kernel end this process when its parent ends, however that happens."""
    if sys.platform != "linux":
        return  # there, the closed standard input ends it
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _own_stdout() -> TextIO:
    """Reserves standard output for our one line; what the engine prints goes to its log."""
    stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return stdout


_engine: list[object] = []  # must live as long as the process


def _serve(options: dict[str, object]) -> str:
    import xllamacpp  # heavy, optional, only loaded here

    params = xllamacpp.CommonParams()
    params.model.path = str(options["path"])
    params.model_alias = {str(options["name"])}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [str(options["secret"])]
    params.n_ctx = int(str(options["context_tokens"]))
    params.n_parallel = 1
    params.cpuparams.n_threads = int(str(options["threads"]))
    params.cpuparams_batch.n_threads = int(str(options["threads"]))
    params.endpoint_slots = params.endpoint_props = False
    params.ui = False
    params.offline = True
    server = xllamacpp.Server(params)
    _engine.append(server)
    return str(server.listening_address)


if __name__ == "__main__":
    sys.exit(main())
