"""The child process that holds the model: llama.cpp's own server on a loopback port, for whoever knows the secret.

Started by the supervisor, never imported by the house. It reads one line of JSON (how to run), says one (where it listens),
and ends when its standard input closes or its parent dies.
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
    said = _own_stdout()
    wish = json.loads(sys.stdin.readline())
    address = _serve(wish)
    said.write(json.dumps({"address": address}) + "\n")
    said.flush()
    sys.stdin.read()  # until the parent closes it
    os._exit(0)  # the engine's threads have nothing to save


def die_with(parent: int) -> None:
    """From now on the kernel ends this process when its parent ends, however that ends."""
    if sys.platform != "linux":
        return  # the closed standard input ends it there
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _own_stdout() -> TextIO:
    """Standard output for our one line; what the engine prints goes with its log."""
    kept = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return kept


_engine: list[object] = []  # must live as long as the process


def _serve(wish: dict[str, object]) -> str:
    import xllamacpp  # heavy, an extra, only ever loaded here

    params = xllamacpp.CommonParams()
    params.model.path = str(wish["path"])
    params.model_alias = {str(wish["name"])}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [str(wish["secret"])]
    params.n_ctx = int(str(wish["context_tokens"]))
    params.n_parallel = 1
    params.cpuparams.n_threads = int(str(wish["threads"]))
    params.cpuparams_batch.n_threads = int(str(wish["threads"]))
    params.endpoint_slots = params.endpoint_props = False
    params.ui = False
    params.offline = True
    server = xllamacpp.Server(params)
    _engine.append(server)
    return str(server.listening_address)


if __name__ == "__main__":
    sys.exit(main())
