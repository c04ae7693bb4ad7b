"""A separate program: enters the network of a sandbox, opens a listening socket there and passes it to its parent.

Started as `python -I -S netns_worker.py NETWORK SOCKET PORT UID GID` with an empty environment. Only a single-threaded process can enter a
user namespace, and the server is not one. It imports nothing of ours, so that it starts quickly.
"""

import ctypes
import fcntl
import os
import socket
import sys

_NS_GET_USERNS = 0xB701
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_WAITING = 128  # connections


def main(network: int, parent: int, port: int, uid: int, gid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if uid != os.geteuid():  # the sandbox and the rights in it belong to the workspace's owner
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    for fd, kind in ((owner, _CLONE_NEWUSER), (network, _CLONE_NEWNET)):
        if libc.setns(fd, kind) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket() as listening, socket.socket(fileno=parent) as connection:
        # There is only a loopback device in there, which may not be up yet: 127.0.0.1 cannot be bound now.
        listening.bind(("0.0.0.0", port))
        listening.listen(_WAITING)
        socket.send_fds(connection, [b"!"], [listening.fileno()])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
