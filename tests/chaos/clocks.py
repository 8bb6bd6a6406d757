"""Hosts whose clocks jump: each service gets its own offset by libfaketime, read anew from a file.

Chosen over a fake Clock by environment: it moves every clock of the process, a library's too, and needs no
door in production code. Monotonic time is left alone, as a jump of the wall clock leaves it. Where the
library isn't installed (Debian: libfaketime) clocks don't jump, and the table says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

PLACES: Final = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1")


def library() -> Path | None:
    for pattern in PLACES:
        for found in Path("/").glob(pattern.lstrip("/")):
            return found
    return None


class Clocks:
    """One file a service: its wall clock's offset in seconds."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            self.jump(name, 0)

    def jump(self, name: str, seconds: int) -> None:
        draft = self._folder / f"{name}.new"
        draft.write_text(f"{seconds:+d}\n")
        draft.replace(self._folder / name)

    def environment(self, name: str) -> dict[str, str]:
        found = library()
        if found is None:
            return {}
        return {
            "LD_PRELOAD": str(found),
            "FAKETIME_TIMESTAMP_FILE": str(self._folder / name),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }
