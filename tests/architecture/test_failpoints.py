"""A failpoint that is declared is reached by code, and one that code reaches is declared: the matrix
iterates the table, so anything else would never be tried."""

import re
from typing import Final

from fencepost_runtime.failpoints import FAILPOINTS

from tests.architecture.shape import our_sources

HIT: Final = re.compile(r"\ba?hit\(\s*\"([a-z_.]+)\"")


def reached() -> set[str]:
    return {name for path in our_sources(".py") for name in HIT.findall(path.read_text())}


def test_every_point_that_code_reaches_is_declared() -> None:
    assert sorted(reached() - set(FAILPOINTS)) == []


def test_every_declared_point_is_reached() -> None:
    assert sorted(set(FAILPOINTS) - reached()) == []
