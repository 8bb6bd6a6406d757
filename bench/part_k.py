"""(k) Evidence of one run of 100,000 events: export, verify offline and in the database, diagnostic replay."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from fencepost_cli.embedded.supervisor import Embedded
from fencepost_contracts.evidence.views import VIEWS
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.vocabulary import Ev
from fencepost_runtime.system import SystemIds
from fencepost_store.engine import make_engine
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store

from bench.approve import client_of
from bench.measure import memory_mb
from bench.mesh import mesh
from bench.part_d import create

BATCH = 250
WORDS = "The quick brown fox reads every line of the log before it believes one. " * 2


def batch(ids: SystemIds, first: int, count: int) -> tuple[NewEvent, ...]:
    """Calls of a model and a tool by turns, as an agent of many steps has them."""
    events = []
    for place in range(first, first + count):
        action, index = place // 4, place // 4
        told: dict[str, Any] = {"index": index, "n": 1, "tool": "life.create_reminder"}
        digest = f"{action:064x}"
        kind, more = (
            (Ev.MODEL_CALLED, {"call_id": str(ids.uuid7()), "key": f"r:{action}:module_agent:0:0", "attempt": 1,
                               "role": "module", "provider": "offline", "model": "offline-rules-1",
                               "state": "settled", "late": False, "input_tokens": 812, "output_tokens": 64,
                               "request_hash": digest, "input": [digest[:32]],
                               "bodies": {digest[:32]: {"role": "user", "text": WORDS}}, "reply": {"text": WORDS}}),
            (Ev.ACTION_PREPARED, {**told, "arguments": {"title": WORDS}, "arguments_hash": digest, "risk": "low",
                                  "effect_class": "local", "approval": False, "status": "prepared"}),
            (Ev.ACTION_STARTED, {**told, "attempt": 1, "effect_key": f"r:action:{index}:commit"}),
            (Ev.ACTION_COMMITTED, {**told, "attempt": 1, "result": {"id": digest, "text": WORDS}}),
        )[place % 4]  # fmt: skip
        events.append(NewEvent(ids.uuid7(), kind, more, "worker:bench"))
    return tuple(events)


async def grow(running: Embedded, run_id: UUID, upto: int) -> int:
    """Append through the one write door until the run has so many events."""
    ids = SystemIds()
    store = Store(make_engine(running.dsn(), size=1), ids)
    try:
        while True:
            async with store.transaction() as tx:
                locked = await lock_run(tx, run_id)
                left = upto - locked.run.event_seq
                if left <= 0:
                    return locked.run.event_seq
                events = batch(ids, locked.run.event_seq, min(left, BATCH))
                await record(tx, locked.run, Decision(None, events=events))
    finally:
        await store.close()


def command(*args: str, env: dict[str, str]) -> tuple[float, float, int, str]:
    """Seconds, highest MB of a process of its own, its exit code and output."""
    code = "import resource,runpy,sys\nsys.argv = sys.argv[1:]\ntry:\n    runpy.run_module('fencepost_cli.main', " \
           "run_name='__main__')\nfinally:\n    sys.stderr.write('RSS %d\\n' % " \
           "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"  # fmt: skip
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "fencepost", *args],
        env={**os.environ, **env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    highest = next((int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("RSS")), 0)
    return time.perf_counter() - began, highest / 1024, done.returncode, done.stdout


async def run(quick: bool) -> dict[str, Any]:
    events = 20_000 if quick else 100_000
    async with mesh(["api"]) as running, client_of(running) as client:
        made = await create(client, SystemIds(), "hello")
        run_id = UUID(made)
        count = await grow(running, run_id, events)
        folder = Path(tempfile.mkdtemp())
        bundle = folder / "run.jsonl"
        env = {"FENCEPOST_URL": running.url, "FENCEPOST_TOKEN": running.token,
               "FENCEPOST_DATABASE_URL": running.dsn()}  # fmt: skip
        found: dict[str, Any] = {"events": count}
        api = running.pid("api") or 0
        before = memory_mb(api)
        downloaded = time.perf_counter()
        highest = before
        with bundle.open("wb") as file:
            async with client.stream("GET", f"/v1/runs/{run_id}/export") as response:
                async for part in response.aiter_bytes():
                    file.write(part)
                    if file.tell() % 64 == 0:
                        highest = max(highest, memory_mb(api))
        found["export, s"] = time.perf_counter() - downloaded
        found["export, api MB"] = max(highest, memory_mb(api))
        found["bundle, MB"] = bundle.stat().st_size / 2**20
        for name, args in (
            ("verify a bundle", ["verify", str(bundle), "--json"]),
            ("verify the database", ["verify", "--json"]),
        ):
            seconds, mb, code, out = await asyncio.to_thread(lambda a=args: command(*a, env=env))
            assert code == 0, out[:500]
            found[f"{name}, s"], found[f"{name}, MB"] = seconds, mb
        assert (
            json.loads(
                (await asyncio.to_thread(lambda: command("verify", str(bundle), "--json", env=env)))[3]
            )["valid_events"]
            == count
        )
        for view in VIEWS:
            began = time.perf_counter()
            answer = await client.get(f"/v1/runs/{run_id}/replay", params={"view": view})
            assert answer.status_code == 200, answer.text[:300]
            found[f"replay {view}, s"] = time.perf_counter() - began
        found["bench MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found
