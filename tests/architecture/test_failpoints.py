"""A failpoint that is declared is reached by code, and one that code reaches is declared: the matrix
iterates the table, so anything else would never be tried."""

import re
from typing import Final

from fencepost_runtime.failpoints import FAILPOINTS

from tests.architecture.shape import our_sources

HIT: Final = re.compile(r"\ba?hit\(\s*\"([a-z_.]+)\"")
SWEEP: Final = re.compile(r"\bSweep\(\s*\w+,\s*\"([a-z_]+)\"")  # a sweep's two points bear its name


def reached() -> set[str]:
    sources = [path.read_text() for path in our_sources(".py")]
    named = {name for source in sources for name in HIT.findall(source)}
    sweeps = {name for source in sources for name in SWEEP.findall(source)}
    return named | {f"reconciler.{name}.{when}_commit" for name in sweeps for when in ("before", "after")}


def test_every_point_that_code_reaches_is_declared() -> None:
    assert sorted(reached() - set(FAILPOINTS)) == []


def test_every_declared_point_is_reached() -> None:
    assert sorted(set(FAILPOINTS) - reached()) == []
