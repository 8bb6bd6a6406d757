"""(b) Five durable steps against the asyncio floor, in turns on one server, and pgbench of the floor's SQL."""

from __future__ import annotations

from typing import Any

from bench.part_a import in_turns, pgbench


async def run(quick: bool) -> dict[str, Any]:
    runs, repeats = (600, 2) if quick else (2_000, 4)
    found: dict[str, Any] = {"2 workers": await in_turns(2, runs, repeats)}
    if not quick:
        found["2 workers of 32"] = await in_turns(2, runs, repeats - 2, slots=32)
        found["1 worker"] = await in_turns(1, runs, repeats - 2)
    found["pgbench"] = await pgbench(4 if quick else 8)
    return found
