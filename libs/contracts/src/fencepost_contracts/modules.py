"""Where modules are: folders with a contract.yaml, ours and a stranger's alike.

A module is found in the repository's `modules/`, in FENCEPOST_MODULES_DIR, or as an installed package named
by the entry-point group `fencepost.modules` (the entry point's name is the module's, its value the package).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fencepost_contracts.yaml12 import ContractFault, ContractRefused

GROUP: Final = "fencepost.modules"
CONTRACT: Final = "contract.yaml"


@dataclass(frozen=True, slots=True)
class ModuleFolder:
    """A module on disk. migrations: its folder of NNNN_{pre,post}_slug.py, None when it has no tables."""

    name: str
    path: Path
    contract: Path
    migrations: Path | None

    @property
    def tools(self) -> Path | None:
        """The package that only the tool-gateway imports; None when the module has no tools of its own."""
        package = self.path / "tools"
        return package if (package / "__init__.py").is_file() else None


def repository_modules() -> Path | None:
    """The `modules` folder of the checkout this code runs from; None when it is installed elsewhere."""
    for parent in Path(__file__).resolve().parents:
        candidate = parent / "modules"
        if (parent / "pyproject.toml").is_file() and any(candidate.glob(f"*/{CONTRACT}")):
            return candidate
    return None


def discover_modules(dirs: Iterable[Path | None] = (), *, installed: bool = True) -> list[ModuleFolder]:
    """All modules, by name. dirs: searched in order besides the installed ones; None entries are skipped.

    Raises ContractRefused when two folders claim one name: which of them is meant must not be a matter of
    order.
    """
    found: dict[str, ModuleFolder] = {}
    for path in [*_in_dirs(dirs), *(_installed() if installed else ())]:
        folder = _folder(path)
        other = found.setdefault(folder.name, folder)
        if other.path.resolve() != folder.path.resolve():
            detail = f"module {folder.name!r} is in {other.path} too"
            raise ContractRefused([ContractFault(str(folder.contract), 1, "", detail)])
    return [found[name] for name in sorted(found)]


def module_dirs(modules_dir: Path | None) -> Sequence[Path]:
    """Where a service looks: the repository's folder and the operator's (FENCEPOST_MODULES_DIR)."""
    return [path for path in (repository_modules(), modules_dir) if path is not None]


def _in_dirs(dirs: Iterable[Path | None]) -> Iterable[Path]:
    for directory in dirs:
        if directory is not None:
            yield from sorted(contract.parent for contract in directory.glob(f"*/{CONTRACT}"))


def _installed() -> Iterable[Path]:
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        spec = find_spec(point.value)  # finds the folder without running the package's code
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if Path(place, CONTRACT).is_file():
                yield Path(place)


def _folder(path: Path) -> ModuleFolder:
    migrations = path / "migrations"
    has_any = any(migrations.glob("[0-9]*.py"))
    return ModuleFolder(path.name, path, path / CONTRACT, migrations if has_any else None)
