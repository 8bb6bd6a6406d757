"""A Kafka broker for `fencepost up --kafka` and for the tests, by detection, always a real one.

1. KAFKA_BOOTSTRAP_SERVERS or FENCEPOST_KAFKA_BOOTSTRAP: somebody runs one; it is used, never stopped.
2. A Docker engine that answers, and testcontainers installed: its Kafka module.
3. Java and Maven: Apache Kafka itself as a child process (broker_process).
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from fencepost_runtime.wake.kafka_topics import broker_answers

from fencepost_cli.embedded.broker_jars import BrokerUnavailable, default_cache
from fencepost_cli.embedded.broker_process import KafkaProcess

__all__ = ["Broker", "BrokerUnavailable", "choose_broker", "start_broker"]

BOOTSTRAP_VARIABLES: Final = ("KAFKA_BOOTSTRAP_SERVERS", "FENCEPOST_KAFKA_BOOTSTRAP")
DOCKER_ANSWERS_SECONDS: Final = 3.0  # a client without an engine fails at once; a hung engine is none
EXTERNAL_ANSWERS_SECONDS: Final = 10.0
CONTAINER_PORT: Final = 9093


class Broker(Protocol):
    """One broker. Its address stays the same from the first start to the last stop."""

    @property
    def bootstrap(self) -> str: ...

    @property
    def can_stop(self) -> bool:
        """Whether it is ours to stop; an external one isn't."""
        ...

    def start(self) -> str:
        """Run until it answers; the bootstrap address. Raises BrokerUnavailable."""
        ...

    def stop(self) -> None: ...

    def restart(self) -> None: ...


def start_broker(data_dir: Path, environ: Mapping[str, str] = os.environ) -> Broker:
    """Choose and start one. A container that can't start (no image to be had) gives way to Java."""
    broker = choose_broker(data_dir, environ)
    try:
        broker.start()
    except BrokerUnavailable:
        if not isinstance(broker, DockerBroker):
            raise
        broker = JavaBroker(data_dir)
        broker.start()
    return broker


def choose_broker(data_dir: Path, environ: Mapping[str, str] = os.environ) -> Broker:
    """The first of the three that this machine has; nothing is started yet.

    data_dir: where a broker of ours keeps its log, ports and data.
    """
    for name in BOOTSTRAP_VARIABLES:
        if environ.get(name):
            return ExternalBroker(environ[name])
    if _docker_answers() and _has_testcontainers():
        return DockerBroker()
    return JavaBroker(data_dir)


class ExternalBroker:
    """Somebody else's."""

    can_stop = False

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def start(self) -> str:
        if not broker_answers(self.bootstrap, EXTERNAL_ANSWERS_SECONDS):
            raise BrokerUnavailable(f"no Kafka broker answers at {self.bootstrap}")
        return self.bootstrap

    def stop(self) -> None:
        return None

    def restart(self) -> None:
        return None


class JavaBroker:
    """Ours, as a child process."""

    can_stop = True

    def __init__(self, data_dir: Path, cache_dir: Path | None = None) -> None:
        self.process = KafkaProcess(data_dir, cache_dir or default_cache())

    @property
    def bootstrap(self) -> str:
        return self.process.bootstrap

    def start(self) -> str:
        return self.process.start()

    def stop(self) -> None:
        self.process.stop()

    def restart(self) -> None:
        self.stop()
        self.start()


class DockerBroker:
    """Ours, in a container; testcontainers' reaper removes it when this process is gone."""

    can_stop = True

    def __init__(self) -> None:
        self._port = _free_port()  # fixed, or a restarted container would come back at another one
        self._container: Any = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> str:
        try:
            if self._container is None:
                from testcontainers.community.kafka import KafkaContainer

                container = KafkaContainer(port=CONTAINER_PORT).with_kraft()
                self._container = container.with_bind_ports(CONTAINER_PORT, self._port)
                self._container.start(timeout=120)
            else:
                self._container.get_wrapped_container().start()
        except Exception as error:  # docker, requests and testcontainers each have a tree of their own
            raise BrokerUnavailable(f"Kafka did not start in Docker: {error}") from error
        if not broker_answers(self.bootstrap, 60):
            raise BrokerUnavailable(f"Kafka in Docker did not answer at {self.bootstrap}")
        return self.bootstrap

    def stop(self) -> None:
        if self._container is not None:
            self._container.get_wrapped_container().stop(timeout=10)

    def restart(self) -> None:
        self.stop()
        self.start()


def _docker_answers() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    command = [docker, "version", "--format", "{{.Server.Version}}"]
    try:
        told = subprocess.run(command, capture_output=True, timeout=DOCKER_ANSWERS_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.returncode == 0


def _has_testcontainers() -> bool:
    try:
        import testcontainers.community.kafka  # noqa: F401
    except ImportError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
