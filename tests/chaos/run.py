"""`make chaos`: minutes of random faults under load, then a table. Exits with 1 on any violation.

python -m tests.chaos.run --minutes 5 --seed 7 [--kafka] [--show] [--json report.json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from fencepost_runtime.failpoints import FAILPOINTS

from tests.chaos.clocks import library
from tests.chaos.load import FIRES_IN, Load
from tests.chaos.reckoning import Reckoning, reckon
from tests.chaos.schedule import Fault, draw
from tests.chaos.stage import Stage, staged
from tests.faults.provider import make_provider
from tests.faults.scenes import ELSEWHERE, scene_of
from tests.faults.scenes import load as common_load
from tests.support.scripted_model import providing

SETTLE_SECONDS: Final = FIRES_IN + 5.0  # after the load: the last reminder fires, the last lease runs out
# Reached by the load; others need a scene of their own, which the fault matrix gives them.
BY_THE_LOAD: Final = (
    "api.",
    "worker.",
    "gateway.",
    "reconciler.relay",
)
# They have a scene there and are reached by this load too: it cancels, pauses and lets leases run out.
ALSO: Final = ("worker.pause.", "worker.drain.", "reconciler.fire.", "reconciler.expire_leases.")
POINTS: Final = [
    name
    for name in FAILPOINTS
    if name.startswith(ALSO)
    or (name.startswith(BY_THE_LOAD) and name not in ELSEWHERE and scene_of(name) is common_load)
]


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


async def unleash(folder: Path, faults: list[Fault], seed: int, seconds: float, kafka: bool) -> Reckoning:
    """Load and faults together for `seconds`, then quiet, then the reckoning."""
    async with providing(make_provider()) as provider, staged(folder, provider.url, kafka=kafka) as stage:
        load, stop = Load(stage.mesh, seed), asyncio.Event()
        living = asyncio.ensure_future(load.run(stop))
        playing = asyncio.ensure_future(stage.play(faults, say))
        broken = asyncio.ensure_future(stage.mesh.wait_failed())
        await asyncio.wait([living, broken], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            raise broken.result()  # the supervisor gave something up: nothing would ever end
        broken.cancel()
        stop.set()
        await playing
        stage.disarm()
        say("        quiet; what was begun is ended")
        await living
        await asyncio.sleep(SETTLE_SECONDS)
        return await reckon(stage.mesh.dsn(), load.told, provider.requests, facts_of(stage, faults))


def facts_of(stage: Stage, faults: list[Fault]) -> dict[str, object]:
    kinds = Counter(fault.kind for fault in faults)
    starts = sum(child.starts for child in stage.mesh.children.values())
    at_failpoints = stage.failpoints_hit()
    return {
        "faults": ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
        "crashes": f"{stage.crashes + at_failpoints} of services ({at_failpoints} at failpoints), "
        f"{stage.postgres_ended} of Postgres",
        "recoveries": f"{starts - len(stage.mesh.children)} services started again",
        "clocks": "jumped, by libfaketime" if library() else "did not jump: libfaketime is not installed",
    }


def main() -> int:
    options = _options()
    began = time.monotonic()
    faults = draw(
        options.seed, options.minutes * 60, POINTS, kafka=options.kafka, clocks=library() is not None
    )
    if options.show:
        say("\n".join(map(str, faults)))
        return 0
    say(f"chaos for {options.minutes:g} minutes, seed {options.seed}, {len(faults)} faults")
    folder = Path(tempfile.mkdtemp(prefix="fencepost-chaos-"))
    try:
        seconds = options.minutes * 60
        found = asyncio.run(unleash(folder / "mesh", faults, options.seed, seconds, options.kafka))
    finally:
        if options.keep:
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    _tell(found, options, time.monotonic() - began)
    return 1 if found.faults else 0


def _tell(found: Reckoning, options: Any, seconds: float) -> None:
    found.table["seconds in all"] = round(seconds)
    say("")
    for name, value in found.table.items():
        say(f"  {name:42} {value}")
    for fault in found.faults:
        say(f"VIOLATION  {fault}")
    verdict = f"{len(found.faults)} violations" if found.faults else "0 violations"
    say(f"\n{verdict}; the same schedule again: make chaos MINUTES={options.minutes:g} SEED={options.seed}")
    if options.json:
        report = {"seed": options.seed, "minutes": options.minutes, **found.table, "violations": found.faults}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False, default=str))


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="make chaos", description="Random faults under load, then a table.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="of the schedule; drawn when left out")
    parser.add_argument("--kafka", action="store_true", help="with a real broker that is stopped and started")
    parser.add_argument("--show", action="store_true", help="print the schedule and do nothing")
    parser.add_argument("--keep", action="store_true", help="keep the data folder and its logs")
    parser.add_argument("--json", type=Path, help="write the table there as well")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int(time.time()) % 1_000_000
    return options


if __name__ == "__main__":
    sys.exit(main())
