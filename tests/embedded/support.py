"""A mesh of stub services, so that the supervisor is tested without what it supervises."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fencepost_cli.embedded.accounts import STATE
from fencepost_cli.embedded.supervisor import Embedded

STUB = str(Path(__file__).with_name("stub_service.py"))
COMMANDS: dict[str, Sequence[str]] = {
    "api": (sys.executable, STUB, "FENCEPOST_API_PORT"),
    "gateway": (sys.executable, STUB, "FENCEPOST_GATEWAY_PORT"),
    "worker": (sys.executable, STUB, "FENCEPOST_WORKER_HEALTH_PORT"),
    "reconciler": (sys.executable, STUB, "FENCEPOST_RECONCILER_HEALTH_PORT"),
}


def stub_mesh(data_dir: Path, **options: Any) -> Embedded:
    options = {"services": ("api", "worker"), "commands": COMMANDS, "migrations": False, **options}
    return Embedded(data_dir, **options)


@contextmanager
def data_folder() -> Iterator[Path]:
    """A folder that the server's user can reach under root too; pytest's own is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-embedded-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def alive(pid: int | None) -> bool:
    """Whether the process runs; a zombie that nobody reaped doesn't."""
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


__all__ = ["COMMANDS", "STATE", "STUB", "alive", "data_folder", "stub_mesh"]
