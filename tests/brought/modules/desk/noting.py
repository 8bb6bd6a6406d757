"""A file of its own beside graph.py, imported relatively."""

from __future__ import annotations

import os
from pathlib import Path


def note(what: str) -> None:
    with _log().open("a", encoding="utf-8") as log:
        log.write(f"{what}\n")


def has_failed() -> bool:
    """True from the second time on, in this process or another."""
    mark = _log().with_suffix(".failed")
    known = mark.exists()
    mark.touch()
    return known


def _log() -> Path:
    return Path(os.environ["DESK_LOG"])
