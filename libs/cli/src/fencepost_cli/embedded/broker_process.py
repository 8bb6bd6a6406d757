"""A real Apache Kafka on this machine: one node, KRaft, as a supervised child.

It keeps its ports for as long as its data folder lives, so clients find it again after a restart. It
ends with whoever started it, SIGKILL included (see watchdog).
"""

import base64
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from fencepost_runtime.wake.kafka_topics import broker_answers

from fencepost_cli.embedded import watchdog
from fencepost_cli.embedded.broker_jars import BrokerUnavailable, fetch_jars, find_java

START_SECONDS: Final = 60.0  # 4 s on an idle machine; a busy one gets time
STOP_SECONDS: Final = watchdog.STOP_SECONDS + watchdog.QUIT_SECONDS + 2  # a clean stop takes 0.3 s
LOG_TAIL_BYTES: Final = 2_000
LOG_KEPT_BYTES: Final = 10_000_000  # an older log is set aside at a start

# A small, quick start: one compiler tier and one collector thread suit a broker that carries hints.
JVM: Final = (
    "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
    "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
)  # fmt: skip


class KafkaProcess:
    """One broker on one data folder. Not for two processes at once: Kafka locks the folder."""

    def __init__(self, data_dir: Path, cache_dir: Path) -> None:
        self._data = data_dir
        self._cache = cache_dir
        self._log = data_dir / "logs" / "broker.log"
        self._ports = _PortFile(data_dir / "ports")
        self._child: subprocess.Popen[bytes] | None = None
        self._jars: Path | None = None
        self._java = ""

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._ports.read()[0]}"

    @property
    def log_file(self) -> Path:
        return self._log

    @property
    def pid(self) -> int | None:
        """The watchdog's; the broker is its only child."""
        return self._child.pid if self._child else None

    def start(self) -> str:
        """Run until it answers; returns the bootstrap address. Raises BrokerUnavailable."""
        self._java = find_java()
        self._jars = fetch_jars(self._cache)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._set_log_aside()
        self._ports.settle()
        properties = self._write_properties()
        if not (self._data / "kraft" / "meta.properties").exists():
            self._format(properties)
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", watchdog.__file__, "--",
                 *self._java_command("kafka.Kafka", str(properties))],
                stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._wait_until_it_answers()
        return self.bootstrap

    def stop(self) -> None:
        """End it cleanly; does nothing when it isn't running."""
        child, self._child = self._child, None
        if child is None:
            return
        assert child.stdin is not None
        child.stdin.close()  # the watchdog takes that for our death, and ends the broker cleanly
        child.wait(STOP_SECONDS)

    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if not self.is_running():
                self.stop()
                raise BrokerUnavailable(f"Kafka ended while starting:\n{self._log_tail()}")
            if _accepts(self._ports.read()[0]) and broker_answers(self.bootstrap, 2.0):
                return
            time.sleep(0.1)
        self.stop()
        raise BrokerUnavailable(f"Kafka did not answer in {START_SECONDS:g} s:\n{self._log_tail()}")

    def _format(self, properties: Path) -> None:
        """Give the data folder its cluster id. The id may be any; a stable one reads better in logs."""
        name = uuid5(NAMESPACE_URL, str(self._data)).bytes
        # A leading 0x14 reads as "F": an id that begins with a dash would look like an option.
        cluster = base64.urlsafe_b64encode(b"\x14" + name[1:]).decode().rstrip("=")
        told = subprocess.run(
            self._java_command("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)),
            capture_output=True, text=True, timeout=START_SECONDS, check=False,
        )  # fmt: skip
        if told.returncode:
            raise BrokerUnavailable(
                f"Kafka's data folder could not be formatted:\n{told.stdout}{told.stderr}"
            )

    def _java_command(self, main_class: str, *arguments: str) -> list[str]:
        return [self._java, *JVM, "-cp", f"{self._jars}/*", main_class, *arguments]

    def _write_properties(self) -> Path:
        broker, controller = self._ports.read()
        path = self._data / "server.properties"
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self._data / "kraft"),
            "num.partitions": "6",
            "auto.create.topics.enable": "false",  # a misspelt topic must not come to life
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",  # the first worker hears at once
            "log.segment.bytes": "16777216",
            "log.index.size.max.bytes": "1048576",
            "num.network.threads": "2",
            "num.io.threads": "2",
            "background.threads": "2",
            "log.cleaner.dedupe.buffer.size": "2097152",
        }
        path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        return path

    def _set_log_aside(self) -> None:
        if self._log.exists() and self._log.stat().st_size > LOG_KEPT_BYTES:
            shutil.move(self._log, self._log.with_suffix(".log.1"))

    def _log_tail(self) -> str:
        return self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")


class _PortFile:
    """Two free ports, kept in a file beside the data."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[int, int]:
        broker, controller = self._path.read_text().split()
        return int(broker), int(controller)

    def settle(self) -> None:
        """Keep the ports of last time if they are free, else take others."""
        if self._path.exists() and not any(_accepts(port) for port in self.read()):
            return
        with socket.socket() as one, socket.socket() as two:
            for sock in (one, two):
                sock.bind(("127.0.0.1", 0))
            ports = f"{one.getsockname()[1]} {two.getsockname()[1]}\n"
        part = self._path.with_suffix(f".{os.getpid()}")
        part.write_text(ports)
        part.replace(self._path)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
