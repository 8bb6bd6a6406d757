"""Free ports, remembered, so that a noted address stays good from one start to the next."""

import socket
from pathlib import Path


def free_port(wanted: int = 0) -> int:
    """`wanted` if nobody listens there, else 0; for 0, any free one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
        return int(probe.getsockname()[1])


def remembered_port(note: Path, first_choice: int = 0) -> int:
    """The port of last time while it is free; else the first choice; else any free one."""
    known = int(note.read_text()) if note.exists() else first_choice
    port = free_port(known) or free_port()
    note.write_text(str(port))
    return port
