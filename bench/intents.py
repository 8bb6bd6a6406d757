# Tables: an entry or a pattern is easier to check on one line than broken up.
"""How fast `detect` is: median per sentence, growth with length, import time. Prints one JSON object.

Run: python bench/intents.py [rounds]. Numbers hold for the machine they were taken on.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from fencepost_intents import detect

ROWS = Path(__file__).parents[1] / "tests" / "evals" / "intents"
PASTE = "我们下周三下午三点开会，预算是 3,500 元，请大家准备材料。Please review the plan by Friday at 5pm. "


def sentences() -> list[tuple[str, datetime, str | None]]:
    """Every text of the golden tables."""
    found = []
    for path in sorted(ROWS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found.append((row["text"], datetime.fromisoformat(row["reference"]), row["zone"]))
    return found


def per_sentence(rounds: int) -> list[float]:
    """Best of `rounds` for each sentence, in microseconds."""
    best: list[float] = []
    for text, reference, zone in sentences():
        detect(text, reference=reference, zone=zone)
        taken = []
        for _ in range(rounds):
            started = time.perf_counter()
            detect(text, reference=reference, zone=zone)
            taken.append(time.perf_counter() - started)
        best.append(min(taken) * 1e6)
    return best


def paste_ms(length: int) -> float:
    """One detection of a pasted text of this many characters, in milliseconds of processor time."""
    text = (PASTE * (length // len(PASTE) + 1))[:length]
    reference = datetime.fromisoformat("2026-03-04T10:00:00+08:00")
    taken = []
    for _ in range(3):
        started = time.process_time()
        detect(text, reference=reference, zone="Asia/Shanghai")
        taken.append(time.process_time() - started)
    return min(taken) * 1e3


def import_ms() -> float:
    """Processor time of importing in a fresh interpreter, less its own start, in milliseconds."""
    code = "import time; t = time.process_time(); import fencepost_intents; print((time.process_time() - t) * 1e3)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return min(runs)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    micro = sorted(per_sentence(rounds))
    print(
        json.dumps(
            {
                "sentences": len(micro),
                "median_us": round(statistics.median(micro), 1),
                "p95_us": round(micro[int(len(micro) * 0.95)], 1),
                "paste_ms": {
                    str(length): round(paste_ms(length), 2) for length in (2_500, 5_000, 10_000, 20_000)
                },
                "import_ms": round(import_ms(), 1),
            }
        )
    )


if __name__ == "__main__":
    main()
