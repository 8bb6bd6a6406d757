"""A real Kafka broker for tests: one a session, and names of its own for each test.

`kafka_broker` is shared: a test that stops it starts it again before it ends. `wake_names` keeps tests
out of each other's topics and groups.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fencepost_cli.embedded.broker import Broker, start_broker


@dataclass(frozen=True, slots=True)
class WakeNames:
    """Prefixes for one test, to be passed into WakeOptions."""

    topic_prefix: str
    group_prefix: str


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The broker, answering. There is no skip: without Docker or Java the test fails and says so."""
    broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield broker
    broker.stop()


@pytest.fixture
def wake_names(request: pytest.FixtureRequest, tmp_path: Path) -> WakeNames:
    """`tmp_path` is unique within a session and a session's broker is new; an external one sees the pid."""
    token = f"t{os.getpid()}-{abs(hash(tmp_path)) % 10**8}"
    return WakeNames(f"{token}.wakeup", f"{token}-worker")
