"""Ports for servers that cannot say which one they took, and for servers that are not there."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """A port that no other program is given meanwhile. A server with SO_REUSEADDR (uvicorn, Node) can listen on it; before that, and
    after it, connections are refused.

    It stays bound here: Linux lets a second socket listen there, and gives the port to nobody who asks for any free one.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
