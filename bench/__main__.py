"""`python -m bench [PART...] [--quick]`: measure, print tables, keep JSON and plots in bench/results/."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.measure import facts
from bench.plots import bars
from bench.tables import flat, show

RESULTS = Path(__file__).parent / "results"
PARTS = {
    "a": ("part_a", "(a) drained runs a second, CPU: direct, and single_action approved through the api"),
    "b": ("part_b", "(b) five durable steps against the asyncio floor, in turns on one server"),
    "c": ("part_c", "(c) the fenced saver against the stock one"),
    "d": ("part_d", "(d) create to start, approve to resume"),
    "e": ("part_e", "(e) take-over after SIGKILL"),
    "f": ("part_f", "(f) claims and sweeps with full tables"),
    "g": ("part_g", "(g) open streams"),
    "h": ("part_h", "(h) creates a second; (i) memory and CPU of idle services, memory of runs in flight"),
    "l": ("part_l", "(l) state of 100,000 changes at random instants; contracts compiled, calls checked"),
    "k": ("part_k", "(k) a run of 100,000 events: export, verify, diagnostic replay"),
    "m": ("part_m", "(m) contracts: 100 tools compiled, one call checked"),
    "j": ("part_j", "(j) peers on the same five steps"),
}
ALIASES = {"i": "h"}


def main() -> int:
    given = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    given.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}; all but the peers when none is named"
    )
    given.add_argument("--quick", action="store_true", help="fewer runs and repeats: a look, not a result")
    asked = given.parse_args()
    parts = [ALIASES.get(part, part) for part in asked.parts] or [part for part in PARTS if part != "j"]
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        given.error(f"no such part: {', '.join(unknown)}")
    RESULTS.mkdir(exist_ok=True)
    failed = [part for part in dict.fromkeys(parts) if not measured(part, asked.quick)]
    return 1 if failed else 0


def measured(part: str, quick: bool) -> bool:
    """Run one part and keep what it found; a part that fails says so, and the others still run."""
    module, title = PARTS[part]
    machine, began = facts(), time.monotonic()
    print(f"\n== {title}", flush=True)
    try:
        found: dict[str, Any] = asyncio.run(importlib.import_module(f"bench.{module}").run(quick))
    except Exception as error:  # one part's fault must not cost the others' results
        print(f"failed: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    show(found)
    kept = {"part": part, "title": title, "quick": quick, "seconds": round(time.monotonic() - began),
            "machine": machine, "found": found}  # fmt: skip
    (RESULTS / f"{part}.json").write_text(json.dumps(kept, indent=1, default=str) + "\n")
    rates = {name: value for name, value in flat(found).items() if name.endswith("per_second")}
    if rates:
        (RESULTS / f"{part}.svg").write_text(bars(title, rates))
    return True


if __name__ == "__main__":
    sys.exit(main())
