"""What may be depended on: nothing by the domain; nothing that the lock doesn't pin by hash."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from tests.architecture.shape import ROOT

LOCKS: Final = ("requirements.lock", "requirements-bootstrap.lock")
NAME: Final = re.compile(r"^[A-Za-z0-9._-]+")


def project(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def plain(requirement: str) -> str:
    found = NAME.match(requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def pinned(lock: str) -> dict[str, str]:
    """Name -> the whole entry, hashes included."""
    entries = re.split(r"^(?=[a-z0-9])", (ROOT / lock).read_text(), flags=re.MULTILINE)
    return {plain(entry): entry for entry in entries if entry.strip() and not entry.startswith("#")}


def members() -> list[Path]:
    return sorted(
        path for top in ("libs", "services", "modules") for path in ROOT.glob(f"{top}/*/pyproject.toml")
    )


def test_the_domain_depends_on_nothing() -> None:
    assert project(ROOT / "libs/domain/pyproject.toml")["project"]["dependencies"] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_and_no_address(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text()
    assert [name for name, entry in pinned(lock).items() if "--hash=sha256:" not in entry] == []


def test_every_dependency_that_a_package_declares_is_locked() -> None:
    locked = pinned("requirements.lock")
    declared = {
        plain(requirement)
        for path in members()
        for requirement in project(path)["project"].get("dependencies", [])
    }
    declared |= {plain(item) for item in project(ROOT / "pyproject.toml")["dependency-groups"]["dev"]}
    ours = {plain(project(path)["project"]["name"]) for path in members()}
    assert sorted(declared - ours - set(locked)) == [], "run `make lock`"


def test_the_bootstrap_installs_the_same_uv_as_the_lock() -> None:
    versions = {re.findall(r"^uv==(\S+)", pinned(lock)["uv"])[0] for lock in LOCKS}
    assert len(versions) == 1


def test_no_tracked_file_is_a_lock_with_addresses() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    assert [path for path in tracked if Path(path).name in {"uv.lock", "pylock.toml", "poetry.lock"}] == []
