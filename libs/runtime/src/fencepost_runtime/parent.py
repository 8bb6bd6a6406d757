"""The pipe by which a service knows that its supervisor lives, and what its exit codes mean to it.

Kept light: the supervisor imports this and nothing else of a service's.
"""

import os
import signal
import threading
from typing import Final

PARENT_FD_VARIABLE: Final = "FENCEPOST_PARENT_FD"
LISTEN_FD_VARIABLE: Final = "FENCEPOST_LISTEN_FD"  # a socket that outlives the service's restarts
EXIT_MISCONFIGURED: Final = 78  # EX_CONFIG: the supervisor doesn't restart what would fail again
ORPHAN_GRACE_SECONDS: Final = 5.0  # an orphan may finish its transactions, not stay


def take_parent_fd() -> int | None:
    """Taken out of the environment: a grandchild must not think the number is its own."""
    text = os.environ.pop(PARENT_FD_VARIABLE, None)
    if text is None:
        return None
    descriptor = int(text)
    os.set_inheritable(descriptor, False)
    return descriptor


def watch_parent(descriptor: int) -> None:
    """From now on, SIGTERM to ourselves when the other end is gone, and the end 5 s later."""
    threading.Thread(target=_watch, args=(descriptor,), daemon=True, name="parent-watch").start()


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(ORPHAN_GRACE_SECONDS)
    os._exit(128 + signal.SIGTERM)
