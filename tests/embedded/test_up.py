"""`fencepost up` as a person meets it: what it prints, Ctrl-C, a second one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.support import alive, data_folder

UP = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, ".")
from fencepost_cli.commands.up import run, told
from tests.embedded.support import stub_mesh
sys.exit(asyncio.run(run(stub_mesh(Path(sys.argv[1]), tell=told))))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with data_folder() as made:
        yield made


def up(folder: Path, **env: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", UP, str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ | env)


def read_until(stream: object, word: str) -> str:
    said = ""
    for line in stream:  # type: ignore[attr-defined]
        said += line
        if word in line:
            return said
    raise AssertionError(f"it ended without {word!r}: {said}")


def test_it_says_where_it_is_and_ends_cleanly_on_ctrl_c(folder: Path) -> None:
    with up(folder) as process:
        said = read_until(process.stdout, "Ctrl-C")
        for word in ("http://127.0.0.1:", "offline", str(folder / "logs")):
            assert word in said
        second = up(folder)
        _, errors = second.communicate(timeout=30)
        assert second.returncode == 1
        assert "already runs" in errors
        assert "Traceback" not in errors
        pid = int((folder / "postgres/data/postmaster.pid").read_text().splitlines()[0])
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert not alive(pid)


def test_ctrl_c_while_it_starts_leaves_nobody(folder: Path) -> None:
    with up(folder) as process:
        read_until(process.stderr, "starting api")
        pid = int((folder / "postgres/data/postmaster.pid").read_text().splitlines()[0])
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not alive(pid)


def test_it_says_what_a_service_is_up_without(folder: Path) -> None:
    with up(folder, STUB_LACKS='{"graph of trips": "refused"}') as process:
        said = read_until(process.stderr, "graph of trips")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    last = said.splitlines()[-1]
    assert "(refused)" in last and last.endswith(f"{folder / 'logs'}/api.log says why")
