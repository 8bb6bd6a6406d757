"""How soon `fencepost up` is ready and how much memory it holds. Linux: reads /proc.

    .venv/bin/python scripts/measure_up.py [DATA_DIR] [--runs N]

Memory is PSS: a page that several processes share is counted once among them.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from fencepost_cli.embedded.supervisor import Embedded


def tree(root: int) -> Iterable[int]:
    """The process and all its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += parents.get(pid, [])


def pss_mb(pids: Iterable[int]) -> float:
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


async def measure(data_dir: Path) -> None:
    started = time.monotonic()
    async with Embedded(data_dir) as mesh:
        ready = time.monotonic() - started
        own = os.getpid()
        parts = {name: pss_mb([child.pid]) for name, child in mesh.children.items() if child.pid}
        parts["postgres"] = pss_mb(tree(mesh.postgres.pid or 0))
        parts["supervisor"] = pss_mb([own])
        whole = pss_mb(tree(own))
        shown = "  ".join(f"{name} {size:.0f}" for name, size in sorted(parts.items()))
        print(f"ready in {ready:.2f} s, {whole:.0f} MB in all: {shown}")
        stopping = time.monotonic()
    print(f"stopped in {time.monotonic() - stopping:.2f} s")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data_dir", nargs="?", type=Path)
    arguments.add_argument("--runs", type=int, default=3)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        for _ in range(asked.runs):
            asyncio.run(measure(asked.data_dir or Path(made) / "data"))


if __name__ == "__main__":
    main()
