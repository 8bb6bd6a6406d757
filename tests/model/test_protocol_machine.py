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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count

import pytest
from fencepost_domain.errors import FencepostError
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import ProtocolMachine
from tests.mutants.mutants import MUTANTS
from tests.mutants.mutate import Mutant
from tests.support.postgres import Cluster, Database

pytestmark = pytest.mark.model
RANDOM = os.environ.get("FENCEPOST_MODEL_RANDOM") == "1"
SECONDS = float(os.environ.get("FENCEPOST_MODEL_SECONDS", "40"))
FIRST_SEED = int(os.environ.get("FENCEPOST_MODEL_SEED", secrets.randbelow(1 << 32) if RANDOM else 0))
# Mutants whose harm shows in the order of whole transactions; the others are races inside of them.
CAUGHT_HERE = [
    "record: fence without status",
    "record: fence without revision",
    "record: fence without expiry",
    "group writer: fence without revision",
    "group writer: fence without expiry",
    "claim lets an older run stand before the conversation's holder",
    "settlement fenced by the run: it ended",
    "parking without wakes: a decision",
    "parking without wakes: an outcome",
]
PHASES = [Phase.generate] + [Phase.shrink] * (os.environ.get("FENCEPOST_MODEL_SHRINK") != "0")
TEETH_SECONDS = float(os.environ.get("FENCEPOST_MODEL_TEETH_SECONDS", "300"))  # for each mutant
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


Clones = Callable[[], AbstractContextManager[Database]]


@pytest.fixture
def clones(postgres_cluster: Cluster, migrated_template: str) -> Clones:
    """A fresh database a history."""
    numbers = count(1)

    @contextmanager
    def fresh() -> Iterator[Database]:
        name = f"fencepost_model_{os.getpid()}_{next(numbers)}"
        yield postgres_cluster.create(name, migrated_template)
        postgres_cluster.drop(name)

    return fresh


def search(clones: Clones, seeds: Iterable[int], seconds: float, profile: settings) -> int:
    """Histories of one seed after the other until the time is over. Returns how many there were."""
    end, histories = time.monotonic() + seconds, count(1)

    def counted() -> AbstractContextManager[Database]:
        next(histories)
        return clones()

    for number in seeds:
        machine = type("Machine", (ProtocolMachine,), {"database": staticmethod(counted), "thorough": RANDOM})
        try:
            run_state_machine_as_test(seed(number)(machine), settings=profile)
        except BaseException as error:
            error.add_note(f"FENCEPOST_MODEL_SEED={number} reproduces this")
            raise
        if time.monotonic() >= end:
            break
    return next(histories) - 1


@pytest.mark.timeout(600 + SECONDS)  # a failure is shrunk before it is told
def test_every_history_keeps_the_protocol(clones: Clones) -> None:
    histories = search(clones, count(FIRST_SEED), SECONDS, PROFILE)
    print(f"{histories} histories from seed {FIRST_SEED} on")


def _mutant(name: str) -> Mutant:
    return next(one for one in MUTANTS if one.name == name)


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CAUGHT_HERE)
def test_the_machine_finds_what_is_wrong(clones: Clones, database: Database, name: str) -> None:
    """The machine has teeth: each of these breaks the protocol, and some history shows it."""
    with _mutant(name).change(database), pytest.raises((AssertionError, FencepostError)):
        search(clones, count(0), TEETH_SECONDS, settings(PROFILE, phases=[Phase.generate]))
