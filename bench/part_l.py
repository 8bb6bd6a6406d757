"""(l) A conversation of 100,000 changes of state, read at random instants; contracts compiled, calls checked.

The instants are read through the store's own door as the api's role, each in a transaction of its own. The
contract has 100 tools, each with a condition over the state.
"""

from __future__ import annotations

import random
import statistics
import time
from datetime import timedelta
from typing import Any

from fencepost_contracts.loader import parse_contract
from fencepost_contracts.schema import Schema
from fencepost_domain.state import Change, Operation
from fencepost_runtime.system import SystemIds
from fencepost_store.engine import make_engine
from fencepost_store.runs import NewRun, create_run
from fencepost_store.state import lock_state, state_at, write_state
from fencepost_store.transaction import Store

from bench.mesh import mesh

EVENTS = 100_000
A_TIME = 20  # changes a transaction, as a busy result writes
KEYS = 50
TOOL = """\
  - name: bench.tool_{n}
    description: A tool.
    risk: low
    effect_class: local
    timeout_seconds: 2
    only_when: {{condition: "state.key_1 >= 0", otherwise: "first the other"}}
    input_schema:
      type: object
      additionalProperties: false
      required: [amount, to]
      properties:
        amount: {{type: string, pattern: "^[0-9]{{1,9}}([.][0-9]{{1,2}})?$"}}
        to: {{type: string, format: email}}
        at: {{type: string, format: date-time}}
    output_schema: {{type: object}}
"""


async def run(quick: bool) -> dict[str, Any]:
    async with mesh(["api"]) as running:
        found = await _instants(running.dsn, 10_000 if quick else EVENTS, 200 if quick else 2_000)
    return {**found, **_contracts(20 if quick else 200)}


async def _instants(dsn: Any, events: int, reads: int) -> dict[str, Any]:
    ids = SystemIds()
    gateway = Store(make_engine(dsn("gateway"), size=1), ids)
    api = Store(make_engine(dsn("api"), size=1), ids)
    tenant, conversation, chance = ids.uuid7(), ids.uuid7(), random.Random(7)
    async with api.transaction(tenant) as tx:
        await create_run(tx, _new(ids, tenant, conversation))
    began, instants = time.perf_counter(), []
    for _ in range(events // A_TIME):
        async with gateway.transaction(tenant) as tx:
            head = await lock_state(tx, conversation, tenant)
            some = [
                Change(f"key_{chance.randrange(KEYS)}", Operation.SET, chance.randrange(10**6))
                for _ in range(A_TIME)
            ]
            await write_state(tx, head, some, source="bench", run_id=None, trace_id=None)
            instants.append(head.now)
    wrote, first = time.perf_counter() - began, instants[0]
    span = instants[-1] - first
    took = []
    for _ in range(reads):
        at = first + timedelta(seconds=chance.random() * span.total_seconds())
        began = time.perf_counter()
        async with api.transaction(tenant) as tx:
            await state_at(tx, conversation, at)
        took.append((time.perf_counter() - began) * 1000)
    await gateway.close()
    await api.close()
    written = {"changes": events, "changes_written_per_second": round(events / wrote)}
    return {**written, **_spread("instant", took, "ms")}


def _new(ids: SystemIds, tenant: Any, conversation: Any) -> NewRun:
    return NewRun(
        id=ids.uuid7(), tenant_id=tenant, user_id="u", roles=("user",), module="life",
        conversation_id=conversation, input={"text": "x"}, locale="en", zone=None, currency="CNY",
        route="POST /v1/runs", idempotency_key="bench", request_hash="0" * 64,
    )  # fmt: skip


def _contracts(repeats: int) -> dict[str, Any]:
    head = 'version: "1"\nagent_name: bench\nallowed_tools:\n'
    raw = (head + "".join(TOOL.format(n=n) for n in range(100)) + "...\n").encode()
    began = time.perf_counter()
    catalog = parse_contract(raw, "bench.yaml", "bench")[1]
    from_text = (time.perf_counter() - began) * 1000
    compiled = []
    for _ in range(max(3, repeats // 20)):
        began = time.perf_counter()
        schemas = [Schema(tool.input_schema) for tool in catalog.tools]
        compiled.append((time.perf_counter() - began) * 1000)
    words, schema, state = catalog.state_words(), schemas[0], {"key_1": 1}
    arguments = {"amount": "12.50", "to": "a@example.com", "at": "2026-03-05T09:00:00+08:00"}
    checked, judged = [], []
    for _ in range(repeats * 20):
        began = time.perf_counter()
        schema.faults(arguments)
        checked.append((time.perf_counter() - began) * 1e6)
        began = time.perf_counter()
        list(words.refusals("bench.tool_1", arguments, state))
        judged.append((time.perf_counter() - began) * 1e6)
    return {
        "100_tools_compiled_ms": round(statistics.median(compiled), 1),
        "100_tools_read_from_yaml_and_checked_ms": round(from_text, 1),
        **_spread("call_checked", checked, "us"),
        **_spread("call_judged_by_state", judged, "us"),
    }


def _spread(name: str, took: list[float], unit: str) -> dict[str, float]:
    took = sorted(took)
    return {
        f"{name}_p50_{unit}": round(took[len(took) // 2], 2),
        f"{name}_p99_{unit}": round(took[int(len(took) * 0.99)], 2),
    }
