"""The broker that tests and `up --kafka` run on: found by detection, restarted in place, never orphaned."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fencepost_cli.embedded import broker as broker_module
from fencepost_cli.embedded.broker import (
    BrokerUnavailable,
    DockerBroker,
    ExternalBroker,
    JavaBroker,
    choose_broker,
)
from fencepost_cli.embedded.broker_jars import find_java
from fencepost_runtime.wake.kafka_topics import broker_answers

ORPHAN = """
import os, signal, sys
from pathlib import Path
from fencepost_cli.embedded.broker import JavaBroker
broker = JavaBroker(Path(sys.argv[1]))
broker.start()
print(broker.process.pid, broker.bootstrap, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("name", ["KAFKA_BOOTSTRAP_SERVERS", "FENCEPOST_KAFKA_BOOTSTRAP"])
def test_a_broker_named_in_the_environment_is_used_and_never_stopped(name: str, tmp_path: Path) -> None:
    chosen = choose_broker(tmp_path, {name: "127.0.0.1:9"})
    assert isinstance(chosen, ExternalBroker)
    assert (chosen.bootstrap, chosen.can_stop) == ("127.0.0.1:9", False)


def test_docker_is_chosen_only_when_its_engine_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "_docker_answers", lambda: True)
    assert isinstance(choose_broker(tmp_path, {}), DockerBroker)
    monkeypatch.setattr(broker_module, "_docker_answers", lambda: False)
    assert isinstance(choose_broker(tmp_path, {}), JavaBroker)


def test_an_external_broker_that_is_silent_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "EXTERNAL_ANSWERS_SECONDS", 0.5)
    with pytest.raises(BrokerUnavailable, match=r"127\.0\.0\.1:9"):
        choose_broker(tmp_path, {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9"}).start()


def test_without_java_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(BrokerUnavailable, match="Java 17"):
        find_java()


@pytest.mark.kafka
def test_a_restarted_broker_is_found_at_the_same_address(tmp_path: Path) -> None:
    broker = JavaBroker(tmp_path)
    first = broker.start()
    try:
        broker.restart()
        assert broker.bootstrap == first
        assert broker_answers(first, 5)
    finally:
        broker.stop()
    assert not broker_answers(first, 0.5)


@pytest.mark.kafka
def test_a_parent_killed_by_sigkill_leaves_no_broker(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        watchdog_pid, bootstrap = parent.stdout.readline().split()
        java = Path(f"/proc/{watchdog_pid}/task/{watchdog_pid}/children").read_text().split()
        assert len(java) == 1
        assert broker_answers(bootstrap, 5)
        os.kill(parent.pid, signal.SIGKILL)
    for pid in (watchdog_pid, *java):
        _wait_for_the_end_of(pid)


def _wait_for_the_end_of(pid: str) -> None:
    """A zombie, whom nobody reaped yet, has ended: its command line is empty."""
    deadline = time.monotonic() + 15
    with suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{pid}/cmdline").read_bytes():
            assert time.monotonic() < deadline, f"process {pid} outlived its parent"
            time.sleep(0.02)
