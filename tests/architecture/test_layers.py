"""The layer contracts hold on our code, and each of them is broken by a planted violation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.shape import ROOT

LAYERS: Final = "Services and cli over store"
PURE: Final = "Domain is pure"
KAFKA: Final = "Kafka clients live in one folder"
SQL: Final = "SQL is private to the store"
LANGGRAPH: Final = "LangGraph lives in one folder"
ENGINE: Final = "Only main wires the LangGraph engine"
CYCLES: Final = "No cycles between siblings"

# Where, what is written there, which contract must break.
PLANTED: Final = [
    ("services/api/src/fencepost_api", "import fencepost_worker", LAYERS),
    ("services/tool-gateway/src/fencepost_tool_gateway", "import fencepost_reconciler", LAYERS),
    ("libs/cli/src/fencepost_cli", "import fencepost_api", LAYERS),
    ("libs/store/src/fencepost_store", "import fencepost_runtime", LAYERS),
    ("libs/runtime/src/fencepost_runtime", "import fencepost_store", LAYERS),
    ("libs/contracts/src/fencepost_contracts", "import fencepost_store", LAYERS),
    ("libs/domain/src/fencepost_domain", "import fencepost_contracts", LAYERS),
    ("libs/sdk/src/fencepost", "import fencepost_runtime", LAYERS),
    ("libs/domain/src/fencepost_domain", "import time", PURE),
    ("libs/domain/src/fencepost_domain", "import pydantic", PURE),
    ("services/api/src/fencepost_api", "import aiokafka", KAFKA),
    ("services/worker/src/fencepost_worker", "import confluent_kafka", KAFKA),
    ("services/api/src/fencepost_api", "import fencepost_store.sql", SQL),
    ("services/worker/src/fencepost_worker", "import langgraph", LANGGRAPH),
    ("services/worker/src/fencepost_worker/engine", "from langchain_core import messages", LANGGRAPH),
    ("services/worker/src/fencepost_worker", "import fencepost_worker.engine.langgraph.saver", ENGINE),
]


def lint(tree: Path, config: Path) -> str:
    """import-linter's report on the packages in `tree`, which go before the installed ones."""
    sources = [str(path) for top in ("libs", "services") for path in sorted(tree.glob(f"{top}/*/src"))]
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache", "--no-logo", config],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sources), "PYTHONSAFEPATH": "1"},
        cwd=tree,
        capture_output=True,
        text=True,
    )
    return f"{done.returncode}\n{' '.join((done.stdout + done.stderr).split())}"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for top in ("libs", "services"):
        for source in sorted(ROOT.glob(f"{top}/*/src")):
            skipped = shutil.ignore_patterns("__pycache__", "*.json", "migrations")
            shutil.copytree(source, tree / source.relative_to(ROOT), ignore=skipped)
    return tree


def test_every_contract_holds() -> None:
    report = lint(ROOT, ROOT / "pyproject.toml")
    assert report.startswith("0\n"), report


@pytest.mark.parametrize(("place", "line", "contract"), PLANTED)
def test_a_planted_import_breaks_its_contract(copied: Path, place: str, line: str, contract: str) -> None:
    planted = copied / place / "planted.py"
    planted.write_text(f"{line}\n")
    try:
        report = lint(copied, ROOT / "pyproject.toml")
    finally:
        planted.unlink()
    assert report.startswith("1\n"), report
    assert f"{contract}" in report.partition("Broken contracts")[2], report


def test_a_planted_cycle_is_found(copied: Path) -> None:
    folder = copied / "libs/runtime/src/fencepost_runtime"
    (folder / "planted_a.py").write_text("import fencepost_runtime.planted_b\n")
    (folder / "planted_b.py").write_text("import fencepost_runtime.planted_a\n")
    report = lint(copied, ROOT / "pyproject.toml")
    for path in folder.glob("planted_*.py"):
        path.unlink()
    assert CYCLES in report.partition("Broken contracts")[2], report
