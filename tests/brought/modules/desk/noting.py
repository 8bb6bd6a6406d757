"""A file of its own beside graph.py, imported relatively."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def note(what: str) -> None:
    """Note that this place was reached; the worker dies here where the test says so, once."""
    with _log().open("a", encoding="utf-8") as log:
        log.write(f"{what}\n")
    wanted = _log().with_suffix(".kill")
    if wanted.exists() and wanted.read_text() == what:
        wanted.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def has_failed() -> bool:
    """True from the second time on, in this process or another."""
    mark = _log().with_suffix(".failed")
    known = mark.exists()
    mark.touch()
    return known


def _log() -> Path:
    return Path(os.environ["DESK_LOG"])
