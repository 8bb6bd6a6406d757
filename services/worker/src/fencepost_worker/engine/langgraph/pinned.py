"""Which LangGraph the direct path knows. It uses private names, so any other version goes by `ainvoke`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from fencepost_runtime.logging import get_logger

if TYPE_CHECKING:
    from fencepost_worker.engine.langgraph.supersteps import Supersteps

KNOWN: Final = {"langgraph": "1.2.24", "langgraph-checkpoint": "4.3.2"}  # raise only with the suites green

log = get_logger(__name__)


def unknown_versions() -> dict[str, str]:
    """What is installed in another version than the direct path was compared with."""
    found = {name: _installed(name) for name in KNOWN}
    return {name: have for name, have in found.items() if have != KNOWN[name]}


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def direct_path(*, wanted: bool) -> type[Supersteps] | None:
    """The driver that goes without LangGraph's runner; None when not wanted or not for this LangGraph."""
    if not wanted:
        return None
    others = unknown_versions()
    if others:
        log.warning("engine.direct_path_off", known=KNOWN, installed=others)
        return None
    driver: type[Supersteps] = import_module("fencepost_worker.engine.langgraph.supersteps").Supersteps
    return driver
