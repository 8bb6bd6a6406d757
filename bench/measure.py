"""What is read from a machine and a server around a measurement: CPU, statements, WAL, memory, facts."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of these processes so far; one that is gone counts nothing."""
    return sum(_times(pid)[0] for pid in pids) / TICKS


def postgres_cpu_seconds(postmaster: int) -> float:
    """Of the server: the postmaster, its living backends, and those that ended meanwhile."""
    own, ended = _times(postmaster)
    return (own + ended) / TICKS + cpu_seconds(children(postmaster))


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(word) for word in task.read_text().split()]
    return found


def _times(pid: int) -> tuple[int, int]:
    """Own ticks, and those of children that were waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def memory_mb(pid: int) -> float:
    """Proportional set size: what is shared with others counts as a share."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


@dataclass(frozen=True, slots=True)
class ServerCounts:
    """Of the whole server; statements is None without pg_stat_statements."""

    wal_bytes: int
    transactions: int
    statements: int | None

    def since(self, earlier: ServerCounts) -> dict[str, float]:
        told: dict[str, float] = {
            "wal_bytes": self.wal_bytes - earlier.wal_bytes,
            "transactions": self.transactions - earlier.transactions,
        }
        if self.statements is not None and earlier.statements is not None:
            told["statements"] = self.statements - earlier.statements
        return told


def server_counts(dsn: str) -> ServerCounts:
    with psycopg.connect(dsn, autocommit=True) as connection:
        has = connection.execute("SELECT to_regclass('pg_stat_statements') IS NOT NULL").fetchone()
        statements = None
        if has and has[0]:
            row = connection.execute("SELECT sum(calls) FROM pg_stat_statements").fetchone()
            statements = int(row[0]) if row and row[0] else 0
        row = connection.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), sum(xact_commit) FROM pg_stat_database"
        ).fetchone()
        assert row is not None
        return ServerCounts(int(row[0]), int(row[1]), statements)


def percentile(values: Sequence[float], share: float) -> float:
    """By the nearest rank; values needn't be sorted."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Median, and the range of the repeats beside it."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "n": len(values)}


def facts(dsn: str | None = None) -> dict[str, Any]:
    """The machine as it was, so that a number can be doubted later."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "?",
    )
    memory = next(
        line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line
    )
    told: dict[str, Any] = {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory) / 1e6, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_before": [round(value, 2) for value in os.getloadavg()],
    }
    if dsn:
        names = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
        with psycopg.connect(dsn, autocommit=True) as connection:
            for name in names:
                row = connection.execute(f"SHOW {name}").fetchone()
                told[name] = row[0] if row else "?"
    return told
