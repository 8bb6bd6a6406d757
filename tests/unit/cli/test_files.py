"""`fencepost files -o`: what a server calls a file is a name in the folder asked for, no more (FI-1)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import typer
from fencepost.errors import ApiError
from fencepost_cli.commands.files import _saved


class Server:
    def __init__(self, **contents: bytes | ApiError) -> None:
        self.contents = contents

    def content(self, artifact_id: str) -> bytes:
        found = self.contents[artifact_id]
        if isinstance(found, ApiError):
            raise found
        return found


def told(artifact_id: str, name: str, data: bytes) -> dict[str, Any]:
    return {
        "id": artifact_id, "name": name, "sha256": hashlib.sha256(data).hexdigest(), "integrity": "ok",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("报告-三月.pptx", "报告-三月.pptx"),
        ("../../etc/passwd", "passwd"),
        ("/etc/x", "x"),
        ("..", "file"),
        (".", "file"),
        ("", "file"),
    ],
)
def test_fi1_nothing_is_written_outside_the_folder(tmp_path: Path, name: str, expected: str) -> None:
    folder = tmp_path / "there" / "files"
    [saved] = _saved(Server(a=b"abc"), [told("a", name, b"abc")], folder)  # type: ignore[arg-type]
    assert Path(saved["file"]) == folder / expected
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [folder / expected]


def test_nothing_is_overwritten_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"mine")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    server = Server(a=b"abc", b=b"abd")
    found = [told("a", "a.txt", b"abc"), told("b", "b.txt", b"abd")]
    saved = list(_saved(server, found, tmp_path))  # type: ignore[arg-type]
    assert [Path(one["file"]).name for one in saved] == ["a (2).txt", "b (2).txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"mine"


def test_i29_what_does_not_hash_right_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(typer.Exit):
        list(_saved(Server(a=b"attacked"), [told("a", "a.txt", b"abc")], tmp_path))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_lost_file_is_told_and_the_others_are_saved(tmp_path: Path) -> None:
    gone = ApiError(410, {"code": "artifact_lost", "detail": "gone"})
    found = [told("a", "a.txt", b"abc"), told("b", "b.txt", b"abd")]
    saved = list(_saved(Server(a=gone, b=b"abd"), found, tmp_path))  # type: ignore[arg-type]
    assert [one["integrity"] for one in saved] == ["missing", "ok"]
    assert (saved[0]["file"], Path(saved[1]["file"]).name) == (None, "b.txt")
