"""What goes wrong when: drawn from a seed before anything starts, so that a seed is a schedule.

The same seed, length and surroundings give the same list. What the load meets at that moment differs from
run to run, as it does outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

SERVICES: Final = ("api", "gateway", "reconciler", "reconciler-2", "worker", "worker-2")
FIRST_AT: Final = 3.0  # seconds: the load is under way by then
QUIET_AT_END: Final = 8.0  # seconds without a new fault before the load stops
PAUSE: Final = (1.0, 9.0)  # seconds between two faults; one may still last when the next begins

# kind -> how often, in parts, and how long it lasts in seconds.
KINDS: Final[Mapping[str, tuple[int, tuple[float, float]]]] = {
    "kill": (30, (0.0, 0.0)),
    "freeze": (18, (0.5, 9.0)),  # both sides of a lease
    "failpoint": (14, (0.0, 0.0)),
    "terminate": (6, (0.0, 0.0)),  # SIGTERM: a roll-out
    "postgres.kill": (4, (0.0, 0.0)),
    "postgres.restart": (4, (0.0, 0.0)),
    "postgres.cut": (8, (0.0, 0.0)),
    "postgres.hang": (6, (0.5, 7.0)),
    "postgres.slow": (6, (1.0, 6.0)),
    "hints.twice": (5, (0.0, 0.0)),
    "hints.poison": (5, (0.0, 0.0)),
}
WITH_KAFKA: Final[Mapping[str, tuple[int, tuple[float, float]]]] = {"kafka.stop": (8, (1.0, 8.0))}
WITH_CLOCKS: Final[Mapping[str, tuple[int, tuple[float, float]]]] = {"clock": (6, (2.0, 10.0))}
JUMPS: Final = (-86_400, -3_600, -30, 30, 3_600, 86_400)  # seconds


@dataclass(frozen=True, slots=True)
class Fault:
    """at, lasts: seconds. target: a service, a failpoint, or a clock's jump in seconds."""

    at: float
    kind: str
    target: str = ""
    lasts: float = 0.0

    def __str__(self) -> str:
        lasts = f" for {self.lasts:.1f} s" if self.lasts else ""
        return f"{self.at:6.1f}  {self.kind} {self.target}{lasts}"


def draw(
    seed: int, seconds: float, failpoints: Sequence[str], *, kafka: bool = False, clocks: bool = False
) -> list[Fault]:
    """The faults of a run, in order of time."""
    random = Random(seed)
    kinds = {**KINDS, **(WITH_KAFKA if kafka else {}), **(WITH_CLOCKS if clocks else {})}
    faults: list[Fault] = []
    at = FIRST_AT
    while at < seconds - QUIET_AT_END:
        [kind] = random.choices(list(kinds), [weight for weight, _ in kinds.values()])
        lasts = round(random.uniform(*kinds[kind][1]), 2)
        faults.append(Fault(round(at, 2), kind, _target(random, kind, failpoints), lasts))
        at += random.uniform(*PAUSE)
    return faults


def _target(random: Random, kind: str, failpoints: Sequence[str]) -> str:
    if kind in ("kill", "freeze", "terminate"):
        return random.choice(SERVICES)
    if kind == "failpoint":
        return random.choice(failpoints)
    if kind == "clock":
        return f"{random.choice(SERVICES)} {random.choice(JUMPS):+d}"
    return ""
