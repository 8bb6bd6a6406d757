"""The protocol as a state machine against the real store on a real Postgres (issue 3, point 4).

Any order of any steps, by owners and by zombies that kept their old fences. Each step's outcome is predicted
from the rows before it; after each, the rows are held against what must always be true; at the end of each
history everybody leaves, time passes, and every run must still come to its end (no stranded run).

    FENCEPOST_MODEL_SECONDS   how long histories are made, 40 by default; more for `make chaos`
    FENCEPOST_MODEL_RANDOM=1  other histories each time, and every invariant checked after every step
    FENCEPOST_MODEL_SEED      start at this seed: what a failure names reproduces it
    FENCEPOST_MODEL_SHRINK=0  tell the first failing history as it was found
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import ProtocolMachine
from tests.support.postgres import Cluster, Database

RANDOM = os.environ.get("FENCEPOST_MODEL_RANDOM") == "1"
SECONDS = float(os.environ.get("FENCEPOST_MODEL_SECONDS", "40"))
FIRST_SEED = int(os.environ.get("FENCEPOST_MODEL_SEED", secrets.randbelow(1 << 32) if RANDOM else 0))
PHASES = [Phase.generate] + [Phase.shrink] * (os.environ.get("FENCEPOST_MODEL_SHRINK") != "0")
PROFILE = settings(
    max_examples=10,  # histories a seed
    stateful_step_count=40,
    deadline=None,
    database=None,  # a seed says it all
    print_blob=False,
    report_multiple_bugs=False,
    phases=PHASES,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(600 + SECONDS)  # a failure is shrunk before it is told
def test_every_history_keeps_the_protocol(postgres_cluster: Cluster, migrated_template: str) -> None:
    numbers = count(1)

    @contextmanager
    def fresh() -> Iterator[Database]:
        name = f"fencepost_model_{os.getpid()}_{next(numbers)}"
        yield postgres_cluster.create(name, migrated_template)
        postgres_cluster.drop(name)

    end = time.monotonic() + SECONDS
    for number in count(FIRST_SEED):
        machine = type("Machine", (ProtocolMachine,), {"database": staticmethod(fresh), "thorough": RANDOM})
        try:
            run_state_machine_as_test(seed(number)(machine), settings=PROFILE)
        except BaseException as error:
            error.add_note(f"FENCEPOST_MODEL_SEED={number} reproduces this")
            raise
        if time.monotonic() >= end:
            print(f"{next(numbers) - 1} histories, seeds {FIRST_SEED} to {number}")
            return
