"""docs/telemetry.md names every event that the code logs, with its levels, and none besides."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALL = re.compile(r"\blog\.(debug|info|warning|error|exception|critical)\(\s*\"([a-z_.]+)\"")
METRIC = re.compile(r"\bcounter\(\s*\"(fencepost\.[a-z_.]+)\"")
ROW = re.compile(r"^\| `([a-z_.]+)` \| ([a-z, ]+) \| \S", re.MULTILINE)


def logged() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for folder in ("libs", "services", "modules"):
        for path in (ROOT / folder).rglob("*.py"):
            for level, event in CALL.findall(path.read_text(encoding="utf-8")):
                found[event].add(level)
    return dict(found)


def told() -> dict[str, set[str]]:
    page = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
    return {event: set(levels.split(", ")) for event, levels in ROW.findall(page.partition("## Metrics")[0])}


def test_every_logged_event_has_its_line() -> None:
    assert logged() == told()


def test_every_metric_has_its_line() -> None:
    made = {
        name
        for folder in ("libs", "services", "modules")
        for path in (ROOT / folder).rglob("*.py")
        for name in METRIC.findall(path.read_text(encoding="utf-8"))
    }
    page = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
    assert made == set(re.findall(r"^\| `(fencepost\.[a-z_.]+)`", page, re.MULTILINE))
