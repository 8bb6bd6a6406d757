"""The Makefile where a clone may lie: `make` cuts what it is told at spaces."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.architecture.shape import ROOT


def test_targets_work_in_a_path_with_spaces(tmp_path: Path) -> None:
    clone = tmp_path / "a clone 中"
    clone.mkdir()
    for name in ("Makefile", "requirements.lock", "requirements-bootstrap.lock"):
        shutil.copy(ROOT / name, clone)
    (clone / ".venv").mkdir()
    (clone / ".venv" / ".installed").touch()

    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}

    said = subprocess.run(  # of its own: under `make lint` it would speak as a part of that
        ["make", "-n", "lint", "demo"], cwd=clone, env=outside, capture_output=True, text=True
    )

    assert (said.returncode, said.stderr) == (0, "")
    assert ".venv/bin/ruff check ." in said.stdout.splitlines()
    assert str(tmp_path) not in said.stdout
