"""The modules' own migrations, as branches beside the core's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost_store.migrate import Branch


def module_folders() -> list[Path]:
    """FENCEPOST_MODULES_DIR, or the `modules` of the clone this is installed from."""
    given = os.environ.get("FENCEPOST_MODULES_DIR")
    if given:
        return [Path(part) for part in given.split(os.pathsep)]
    beside = Path(__file__).resolve().parents[4] / "modules"
    return [beside] if beside.is_dir() else []


def module_branches() -> list[Branch]:
    """A branch for each module that has migrations."""
    from fencepost_contracts.loader import discover_modules
    from fencepost_store.migrate import Branch

    found = discover_modules(module_folders())
    return [Branch(m.name, m.migrations) for m in found if m.migrations is not None]
