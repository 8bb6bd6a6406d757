"""Found figures as a table: a dictionary of dictionaries, with the leaves' names as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat(found: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """`a / b / c` -> leaf."""
    told: dict[str, Any] = {}
    for name, value in found.items():
        path = f"{before} / {name}" if before else str(name)
        if isinstance(value, Mapping):
            told |= flat(value, path)
        else:
            told[path] = value
    return told


def number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def show(found: Mapping[str, Any]) -> None:
    """Print rows that share their leaves' names under one head; the rest as lines."""
    rows: dict[str, dict[str, str]] = {}
    for path, value in flat(found).items():
        row, _, leaf = path.rpartition(" / ")
        rows.setdefault(row, {})[leaf] = number(value)
    head: tuple[str, ...] = ()
    width = max((len(row) for row in rows), default=0)
    for row, leaves in rows.items():
        if tuple(leaves) != head:
            head = tuple(leaves)
            print(f"\n{'':{width}}  " + "  ".join(f"{name:>12}" for name in head))
        cells = "  ".join(f"{leaves[name]:>{max(12, len(name))}}" for name in head)
        print(f"{row:{width}}  {cells}", flush=True)
