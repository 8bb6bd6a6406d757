"""Failpoints do what the crash tests lean on: one process only, once only, and nothing when off."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fencepost_runtime import failpoints
from fencepost_runtime.failpoints import FailpointError, UnknownFailpoint, arm, hit, hit_by, release, wait_hit

POINT = "worker.checkpoint.after_commit"


@pytest.fixture
def armed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(failpoints.DIRECTORY_VARIABLE, str(tmp_path))
    return tmp_path


def child(directory: Path, code: str = f"hit({POINT!r})") -> subprocess.Popen[bytes]:
    script = f"from fencepost_runtime.failpoints import hit; {code}"
    env = {**os.environ, failpoints.DIRECTORY_VARIABLE: str(directory)}
    return subprocess.Popen([sys.executable, "-c", script], env=env)


def test_an_unregistered_name_raises_even_when_failpoints_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(failpoints.DIRECTORY_VARIABLE, raising=False)
    with pytest.raises(UnknownFailpoint):
        hit("worker.checkpoint.afer_commit")
    hit(POINT)


def test_error_raises_once_and_a_second_pass_goes_on(armed: Path) -> None:
    arm(armed, POINT, "error")
    with pytest.raises(FailpointError, match=POINT):
        hit(POINT)
    hit(POINT)
    assert hit_by(armed, POINT) == os.getpid()


def test_arming_again_forgets_the_earlier_hit(armed: Path) -> None:
    arm(armed, POINT, "observe")
    hit(POINT)
    arm(armed, POINT, "observe")
    assert hit_by(armed, POINT) is None


async def test_kill_kills_one_process_and_spares_the_next(tmp_path: Path) -> None:
    arm(tmp_path, POINT, "kill")
    first = child(tmp_path)
    assert first.wait(20) == -signal.SIGKILL
    assert await wait_hit(tmp_path, POINT) == first.pid
    assert child(tmp_path).wait(20) == 0


async def test_stop_makes_a_zombie_that_sigcont_revives(tmp_path: Path) -> None:
    arm(tmp_path, POINT, "stop")
    process = child(tmp_path)
    _, status = await asyncio.to_thread(os.waitpid, process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(20) == 0


async def test_ahit_blocks_its_task_and_not_the_loop(armed: Path) -> None:
    arm(armed, POINT, "block")
    task = asyncio.ensure_future(failpoints.ahit(POINT))
    await wait_hit(armed, POINT)
    assert not task.done()
    release(armed, POINT)
    await task


async def test_waiting_for_a_point_nobody_reaches_says_which(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=POINT):
        await wait_hit(tmp_path, POINT, timeout=0.05)
