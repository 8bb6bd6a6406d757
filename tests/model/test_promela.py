"""The protocol in Promela, searched to its end by Spin; and broken protocols, each of which Spin must refute.

Where Spin is not installed these are skipped, except in CI, where it has to be there (Debian: spin, gcc).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.model

HERE: Final = Path(__file__).parent
MEGABYTES: Final = 2000  # over the largest search by far
DEPTH: Final = 10_000
SECONDS: Final = 400  # some ten seconds by itself; a busy machine has neighbours


@dataclass(frozen=True, slots=True)
class Verdict:
    """broken: the assertion that a counterexample violates, None when there is none."""

    broken: str | None
    states: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Broken:
    """A protocol with `define` and the law that it breaks, as the model's assertion has it."""

    model: str
    view: str
    define: str
    law: str


OWNER, IN_TIME, STRANDED, LOST_WAKE, TWICE = "holder==", "leased", "(status", "question!=", "landed"
VIEWS: Final = [
    ("fencepost", "LIFE"),
    ("fencepost", "WAITS"),
    ("fencepost", "EFFECTS"),
    ("conversation", "BASE"),
]
BROKEN: Final = [
    Broken("fencepost", "EFFECTS", "NO_STATUS", "stop_asked"),
    Broken("fencepost", "LIFE", "NO_REVISION", OWNER),
    Broken("fencepost", "EFFECTS", "NO_REVISION", OWNER),
    Broken("fencepost", "LIFE", "NO_EXPIRY", IN_TIME),
    Broken("fencepost", "LIFE", "NO_BUMP", OWNER),
    Broken("fencepost", "LIFE", "SWEEP_WITHOUT_REVISION", IN_TIME),
    Broken("fencepost", "LIFE", "NO_LEASE_SWEEP", STRANDED),
    Broken("fencepost", "LIFE", "NO_DRAIN_SWEEP", STRANDED),
    Broken("fencepost", "EFFECTS", "NO_WAIT_SWEEP", STRANDED),
    Broken("fencepost", "WAITS", "NO_WAKES", LOST_WAKE),
    Broken("fencepost", "EFFECTS", "EARLIER_TX", OWNER),
    Broken("fencepost", "EFFECTS", "STALE_APPROVAL", "approved"),
    Broken("fencepost", "EFFECTS", "STALE_EFFECT", ""),  # two open attempts, or what they then do twice
    Broken("fencepost", "EFFECTS", "SETTLE_FENCED", IN_TIME),
    Broken("fencepost", "EFFECTS", "ABSENT_EARLY", TWICE),
    Broken("conversation", "BASE", "OLDER_FIRST", STRANDED),
    Broken("conversation", "BASE", "PAUSE_KEEPS", STRANDED),
]


@pytest.fixture(scope="module", autouse=True)
def spin() -> None:
    missing = [tool for tool in ("spin", "cc") if shutil.which(tool) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(missing)} must be installed in CI")
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")


def verify(folder: Path, model: str, *defines: str) -> Verdict:
    """Generate the verifier, compile it, and search every state, or up to the first counterexample."""

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=folder, check=False, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    shutil.copy(HERE / f"{model}.pml", folder)
    run("spin", "-a", *(f"-D{define}" for define in defines), f"{model}.pml")
    run("cc", "-w", "-O2", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEGABYTES}", "-o", "pan", "pan.c")
    told = run("./pan", f"-m{DEPTH}", "-n")
    states = re.search(r"(\d+) states, stored", told)
    assert states is not None, told
    broken = re.search(r"^pan:1: assertion violated (.*) \(at depth", told, re.MULTILINE)
    assert broken or "pan:1:" not in told, told  # an overflow or the like is no counterexample
    cut_short = "Search not completed" in told or "max search depth too small" in told
    return Verdict(broken[1] if broken else None, int(states[1]), not cut_short)


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize(("model", "view"), VIEWS)
def test_the_protocol_keeps_its_laws_in_every_history(tmp_path: Path, model: str, view: str) -> None:
    verdict = verify(tmp_path, model, view)
    assert verdict.broken is None
    assert verdict.complete, "the search ended before it saw every state"
    assert verdict.states > 1000, "a model that can do next to nothing proves nothing"


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: f"{broken.view}-{broken.define}")
def test_a_broken_protocol_has_a_counterexample(tmp_path: Path, broken: Broken) -> None:
    verdict = verify(tmp_path, broken.model, broken.view, broken.define)
    assert verdict.broken is not None, f"without {broken.define} nothing breaks: the model has no teeth there"
    assert broken.law in verdict.broken


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("view", ["WAITS", "EFFECTS"])
def test_the_owner_in_the_fence_is_implied_by_the_revision(tmp_path: Path, view: str) -> None:
    """A revision belongs to one claim, so the protocol holds without it: it guards against mistakes."""
    assert verify(tmp_path, "fencepost", view, "NO_OWNER").broken is None
