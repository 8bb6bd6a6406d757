"""What the child takes from itself before it touches a stranger's bytes. Linux; elsewhere what there is.

Three layers, each of them alone enough for what we know of: limits of the kernel (memory, CPU, no file may
grow, no core), a network namespace without a network where the kernel grants one, and a hook that refuses
what a reader never does: sockets, processes, writing, and files outside Python's own folders.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, Final

from fencepost_documents.limits import Limits

CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000
PR_SET_PDEATHSIG: Final = 1
PR_SET_NO_NEW_PRIVS: Final = 38
FILES_OPEN: Final = 64
# Audit events of Python 3.11+; a prefix ends with a dot.
FORBIDDEN: Final = (
    "socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork",
    "os.remove", "os.rename",
    "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.truncate", "os.putenv", "ctypes.dlopen", "pty.",
    "shutil.",
    "webbrowser.", "urllib.", "http.", "ftplib.", "smtplib.", "sqlite3.", "tempfile.",
)  # fmt: skip
WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


class Forbidden(BaseException):
    """A reader tried what it has no business with. Not an Exception: no library's `except` may hide it."""


def lock_down(limits: Limits) -> None:
    """Called once, ahead of the first byte of the document; parsers import what they need after it."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # never outlives who asked
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _without_network(libc)
    for what, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, FILES_OPEN),
    ):
        resource.setrlimit(what, (value, value))
    sys.addaudithook(_hook(_own_folders()))


def _without_network(libc: Any) -> None:
    """As root a namespace of its own; else one inside a user namespace, which some kernels refuse: then the
    hook stands alone against sockets.
    """
    if libc.unshare(CLONE_NEWNET) != 0:
        libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)


def _own_folders() -> tuple[str, ...]:
    """Where Python and the packages lie, and this package itself when it is installed in place."""
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(__file__).parent.parent)}
    places |= {os.path.realpath(place) for place in places}
    return tuple(place.rstrip("/") + "/" for place in sorted(places) if place not in ("", "/"))


def _hook(folders: tuple[str, ...]) -> Any:
    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int):
                return
            name = os.fsdecode(path) if isinstance(path, bytes | str) else str(path)
            if (flags or 0) & WRITES or not os.path.realpath(name).startswith(folders):
                raise Forbidden(f"open {name}")
        elif event.startswith(FORBIDDEN):
            raise Forbidden(event)

    return refuse
