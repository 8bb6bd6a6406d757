"""Listening addresses: taken by ourselves, or inherited from a supervisor that holds them across restarts."""

import os
import socket
from typing import Final

from fencepost_runtime.parent import LISTEN_FD_VARIABLE

BACKLOG: Final = 256  # callers that wait while a process is restarted; more are refused


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises OSError when the address is in use.

    Who connects from now on waits until it is served. An inherited socket is used once, whatever it is
    bound to: the supervisor chose the same address.
    """
    inherited = os.environ.pop(LISTEN_FD_VARIABLE, None)
    if inherited is not None:
        os.set_inheritable(int(inherited), False)
        return socket.socket(fileno=int(inherited))
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
