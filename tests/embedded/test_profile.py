"""Where a program of a clone finds the local `up`: the README's SDK example."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fencepost.profile import NoProfile, default_data_dir, find


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose .venv this program runs in, and a home and a working directory elsewhere."""
    for name in ("FENCEPOST_DATA_DIR", "FENCEPOST_URL", "FENCEPOST_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("clone", "home", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "clone" / ".venv"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "clone"


def leave_profile(folder: Path, url: str) -> None:
    folder.mkdir()
    (folder / "profile.json").write_text(json.dumps({"url": url, "token": "t"}))


def test_the_clones_own_up_is_found_without_its_launcher(clone: Path) -> None:
    leave_profile(clone / ".fencepost", "http://127.0.0.1:1")
    assert find().url == "http://127.0.0.1:1"


def test_a_folder_beside_the_program_says_nothing(clone: Path) -> None:
    """A stranger's folder must not say where a token is sent."""
    leave_profile(Path.cwd() / ".fencepost", "http://stranger.example")
    with pytest.raises(NoProfile):
        find()
    assert default_data_dir() == Path.home() / ".fencepost"


def test_a_data_folder_that_is_named_goes_first(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_profile(clone / ".fencepost", "http://127.0.0.1:1")
    monkeypatch.setenv("FENCEPOST_DATA_DIR", str(clone / "named"))
    assert default_data_dir() == clone / "named"
