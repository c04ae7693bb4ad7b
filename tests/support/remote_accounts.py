"""A remote MCP server that has people sign in, as a process on a free port."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.ports import held_port

SERVER = Path(__file__).parent / "oauth_mcp_server.py"


@contextmanager
def accounts(seconds: int = 3600) -> Iterator[str]:
    """Its address, once it listens. Access tokens live for so many seconds."""
    with held_port() as port:
        words = [sys.executable, str(SERVER), str(port), str(seconds)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            assert any("running on" in line for line in process.stderr), "it ended before it listened"
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()
            process.communicate()
