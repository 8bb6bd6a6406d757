"""Which modules bring a graph, and what its code exports. Only the worker imports it.

A module's folder has a `graph.py`; a package may name one in the entry-point group `fencepost.graphs` (name:
the module's, value: a module, or `module:attribute`). What can't be used is refused with its reason, and
the other modules are served.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fencepost_contracts.modules import GROUP as MODULES_GROUP
from fencepost_contracts.modules import ModuleFolder

GROUP: Final = "fencepost.graphs"
FILE: Final = "graph.py"
PACKAGE: Final = "fencepost_brought"  # a folder that is no package of its own is imported under this name


class GraphRefused(Exception):
    """A brought graph that can't be served, in words for its author."""

    def __init__(self, module: str, detail: str) -> None:
        self.module, self.detail = module, detail
        super().__init__(f"{module}: {detail}")


@dataclass(frozen=True, slots=True)
class Brought:
    """What graph.py exports. graph: a StateGraph, a compiled one, or a function that makes either.

    older: earlier versions that runs in flight may be bound to. state_types: types that checkpoints may hold
    beside those of the state's annotations. limits: of contracts.graphs.Limits. context: what LangGraph's
    runtime gives its nodes, the same in every run.
    """

    module: str
    version: str
    graph: Any
    to_state: Callable[[Any], Any] | None = None
    from_state: Callable[[Any], Any] | None = None
    state_types: Sequence[type] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    older: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None


def find_graphs(
    folders: Iterable[ModuleFolder], *, points: Iterable[EntryPoint] | None = None
) -> tuple[list[Brought], list[GraphRefused]]:
    """The graphs of these modules, and those that can't be served."""
    named = {point.name: point for point in (entry_points(group=GROUP) if points is None else points)}
    found: list[Brought] = []
    refused: list[GraphRefused] = []
    for folder in folders:
        try:
            exported = _imported(folder, named.get(folder.name))
            if exported is not None:
                found.append(_read(folder.name, *exported))
        except GraphRefused as error:
            refused.append(error)
    return found, refused


def _imported(folder: ModuleFolder, point: EntryPoint | None) -> tuple[ModuleType, str] | None:
    """The module that exports the graph and the attribute it is; None where there is none."""
    file = folder.path / FILE
    if point is not None and file.is_file() and not _is_the_same(point, file):
        raise GraphRefused(
            folder.name, f"both {file} and the entry point {point.value} bring a graph: keep one of them"
        )
    try:
        if point is not None:
            return import_module(point.module), point.attr or "graph"
        if not file.is_file():
            return None
        return import_module(f"{_package_of(folder)}.graph"), "graph"
    except GraphRefused:
        raise
    except (Exception, SystemExit) as error:  # a script's exit must not be the worker's
        where = point.value if point is not None else str(file)
        raise GraphRefused(
            folder.name, f"importing {where} failed: {type(error).__name__}: {error}"
        ) from error


def _is_the_same(point: EntryPoint, file: Path) -> bool:
    try:
        spec = find_spec(point.module)
    except ImportError:
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == file.resolve()


def _package_of(folder: ModuleFolder) -> str:
    """The name under which a folder is a package: its own where it is installed, else one of ours."""
    for point in entry_points(group=MODULES_GROUP):
        spec = find_spec(point.value)
        places = (spec.submodule_search_locations or ()) if spec else ()
        if any(Path(place).resolve() == folder.path.resolve() for place in places):
            return point.value
    name = f"{PACKAGE}_{folder.name}"
    known = sys.modules.get(name)
    if known is None or list(known.__path__) != [str(folder.path)]:
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder.path)]
        sys.modules[name] = module_from_spec(spec)
        sys.modules.pop(f"{name}.graph", None)
    return name


def _read(module: str, code: ModuleType, attribute: str) -> Brought:
    """Raises GraphRefused for exports that aren't what they have to be."""
    graph = getattr(code, attribute, None)
    if graph is None:
        raise GraphRefused(
            module, f"{code.__name__} exports no `{attribute}`: a StateGraph or a compiled graph"
        )
    version = getattr(code, "VERSION", None)
    if not isinstance(version, str) or not version.strip():
        raise GraphRefused(
            module, f'{code.__name__} exports no VERSION: add VERSION = "1", and another with each change'
        )
    older = getattr(code, "OLDER", {})
    if not isinstance(older, Mapping) or version in older:
        raise GraphRefused(module, "OLDER must map earlier versions to their graphs, without the present one")
    for name in ("to_state", "from_state"):
        if not callable(getattr(code, name, len)):
            raise GraphRefused(module, f"{code.__name__}.{name} is no function")
    return Brought(
        module,
        version,
        graph,
        getattr(code, "to_state", None),
        getattr(code, "from_state", None),
        tuple(getattr(code, "STATE_TYPES", ())),
        dict(getattr(code, "LIMITS", {})),
        dict(older),
        getattr(code, "CONTEXT", None),
    )
