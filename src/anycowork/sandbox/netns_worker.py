"""A program of its own: enters the network of a sandbox, opens a listening socket there and hands it to its parent.

Started as `python -I -S netns_worker.py NETWORK SOCKET PORT UID GID` with an empty environment. A user namespace can only be entered
by a process with a single thread, which the server is not. It imports nothing of ours, so that it starts quickly.
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
    if uid != os.geteuid():  # the sandbox belongs to the workspace's owner, and so do the rights in it
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    for fd, kind in ((owner, _CLONE_NEWUSER), (network, _CLONE_NEWNET)):
        if libc.setns(fd, kind) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket() as listening, socket.socket(fileno=parent) as told:
        # Nothing but a loopback device is in there, and it may not be up yet: 127.0.0.1 could not be named now.
        listening.bind(("0.0.0.0", port))
        listening.listen(_WAITING)
        socket.send_fds(told, [b"!"], [listening.fileno()])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
