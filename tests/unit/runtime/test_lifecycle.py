"""A service ends when told, at once when told twice, and when its parent is gone however it went."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from fencepost_runtime.parent import EXIT_MISCONFIGURED, PARENT_FD_VARIABLE

POLITE = """
import sys
from fencepost_runtime.lifecycle import run_service
async def main(stop):
    print("up", flush=True)
    await stop.wait()
    print("stopped", flush=True)
run_service(main)
"""
DEAF = POLITE.replace(
    "await stop.wait()",
    "await stop.wait(); print('deaf', flush=True); import asyncio; await asyncio.sleep(60)",
)
MISCONFIGURED = """
from fencepost_runtime.lifecycle import run_service
from fencepost_runtime.settings import WorkerSettings, load_settings
async def main(stop):
    load_settings(WorkerSettings)
run_service(main)
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


def start(code: str, **more: object) -> subprocess.Popen[str]:
    env = {**os.environ, **more.pop("env", {})}  # type: ignore[dict-item]
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        **more,  # type: ignore[call-overload]
    )
    return process


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_stops_in_order(number: signal.Signals) -> None:
    with start(POLITE) as process:
        assert said(process) == "up"
        process.send_signal(number)
        assert said(process) == "stopped"
    assert process.returncode == 0


def test_the_second_signal_ends_at_once() -> None:
    with start(DEAF) as process:
        assert said(process) == "up"
        process.send_signal(signal.SIGTERM)
        assert said(process) == "deaf"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM


def test_a_service_stops_when_the_pipe_of_its_parent_ends(pipe: tuple[int, int]) -> None:
    read, write = pipe
    with start(POLITE, env={PARENT_FD_VARIABLE: str(read)}, pass_fds=[read]) as process:
        assert said(process) == "up"
        os.close(write)
        assert said(process) == "stopped"
    assert process.returncode == 0


def test_wrong_settings_end_with_78_and_their_names_not_a_traceback() -> None:
    with start(MISCONFIGURED, env={"FENCEPOST_LEASE_SECONDS": "1"}) as process:
        _, errors = process.communicate(timeout=20)
    assert process.returncode == EXIT_MISCONFIGURED
    assert "FENCEPOST_WORKER_SLOT" in errors
    assert "Traceback" not in errors
