"""A mesh of the product for a measurement, on data of its own, and runs to put into it by the thousand."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from fencepost_cli.embedded.identity import LOCAL_TENANT, LOCAL_USER
from fencepost_cli.embedded.services import COMMANDS
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_runtime.system import SystemIds
from fencepost_store.integrity import check_invariants

ENV = {"FENCEPOST_LOG_LEVEL": "warning", "FENCEPOST_WORKER_CONCURRENCY": "16"}
FIVE_COMMAND = (sys.executable, "-m", "bench.five")
ROOT = str(Path(__file__).resolve().parent.parent)


@asynccontextmanager
async def mesh(
    services: Sequence[str],
    *,
    five: bool = False,
    kafka: bool = False,
    env: Mapping[str, str] | None = None,
    commands: Mapping[str, Sequence[str]] | None = None,
) -> AsyncIterator[Embedded]:
    """A fresh mesh in a folder that is gone afterwards. five: workers run the five-step graph."""
    commands = commands or ({**COMMANDS, "worker": FIVE_COMMAND} if five else COMMANDS)
    path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
    told = {**ENV, "PYTHONPATH": path, **(env or {})}
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        os.chmod(folder, 0o711)  # noqa: PTH101
        async with Embedded(
            Path(folder) / "data", services=services, kafka=kafka, env=told, commands=commands
        ) as running:
            yield running


_CREATE = """
WITH given AS MATERIALIZED (
    SELECT r, c, m, o, e, uuid_send(gen_random_uuid()) AS salt, clock_timestamp() AS at,
           convert_to('{"mode":"live","module":"' || %(module)s || '"}', 'UTF8') AS payload
      FROM unnest(%(runs)s::uuid[], %(conversations)s::uuid[], %(messages)s::uuid[], %(outbox)s::uuid[],
                  %(events)s::uuid[]) AS u (r, c, m, o, e)
), hashed AS MATERIALIZED (
    SELECT g.*, p.hash AS payload_hash, h.zero,
           agent.event_hash(g.r, 1, g.e, 'run.requested', 1, 'user:' || %(user)s, g.at, NULL, NULL, p.hash,
                            h.zero) AS hash
      FROM given g, LATERAL (SELECT sha256(g.salt || g.payload) AS hash) AS p,
           (SELECT decode(repeat('00', 32), 'hex') AS zero) AS h
), talks AS (
    INSERT INTO agent.conversations (id, tenant_id, user_id, next_seq)
    SELECT c, %(tenant)s, %(user)s, 2 FROM given
), made AS (
    INSERT INTO agent.runs (id, tenant_id, user_id, roles, module, conversation_id, root_run_id, input,
                            locale, zone, currency, route, idempotency_key, request_hash, available_at,
                            event_seq, event_head)
    SELECT r, %(tenant)s, %(user)s, '{user}', %(module)s, c, r, %(input)s::jsonb,
           'en', 'Asia/Shanghai', 'CNY', 'POST /v1/runs', r::text, repeat('0', 64), 'infinity', 1, hash
      FROM hashed
), logged AS (
    INSERT INTO agent.run_events (run_id, seq, id, tenant_id, type, schema_version, actor, at, payload_hash,
                                  prev_hash, hash)
    SELECT r, 1, e, %(tenant)s, 'run.requested', 1, 'user:' || %(user)s, at, payload_hash, zero, hash FROM hashed
), paid AS (
    INSERT INTO agent.run_event_payloads (run_id, seq, tenant_id, salt, payload)
    SELECT r, 1, %(tenant)s, salt, payload FROM hashed
), budgeted AS (
    INSERT INTO agent.budgets (root_run_id, tenant_id, limits) SELECT r, %(tenant)s, '{}' FROM given
), said AS (
    INSERT INTO agent.messages (id, conversation_id, seq, tenant_id, user_id, run_id, author, text)
    SELECT m, c, 1, %(tenant)s, %(user)s, r, 'user', %(text)s FROM given
)
INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, publish_at)
SELECT o, %(tenant)s, r, %(module)s, 'agent.run.requested.v1', 'infinity' FROM given
"""


def enqueue(mesh: Embedded, count: int, text: str = "hello", module: str = "life") -> list[Any]:
    """Runs of one conversation each, in bulk as the superuser, not available yet: see `release`."""
    ids = SystemIds()
    runs = [ids.uuid7() for _ in range(count)]
    with psycopg.connect(mesh.dsn(), autocommit=True) as connection:
        connection.execute(
            _CREATE,
            {
                "runs": runs,
                "conversations": [ids.uuid7() for _ in runs],
                "messages": [ids.uuid7() for _ in runs],
                "outbox": [ids.uuid7() for _ in runs],
                "events": [ids.uuid7() for _ in runs],
                "tenant": LOCAL_TENANT,
                "user": LOCAL_USER,
                "module": module,
                "input": json.dumps({"text": text}),
                "text": text,
            },
        )
        connection.execute(  # as the api does with each request: a run taken over is checked against it
            "INSERT INTO agent.principals (tenant_id, user_id, roles) VALUES (%s, %s, '{user}')"
            " ON CONFLICT (tenant_id, user_id) DO UPDATE SET seen_at = clock_timestamp()",
            (LOCAL_TENANT, LOCAL_USER),
        )
        connection.execute(
            "UPDATE agent.outbox SET published_at = clock_timestamp() WHERE published_at IS NULL"
        )
    return runs


def release(mesh: Embedded, module: str = "life") -> None:
    """Make all that was enqueued available at once, and tell the workers."""
    with psycopg.connect(mesh.dsn(), autocommit=True) as connection:
        connection.execute(
            "UPDATE agent.runs SET available_at = clock_timestamp(), rank = clock_timestamp()"
            " WHERE available_at = 'infinity'"
        )


async def drained(mesh: Embedded, count: int, within: float = 300.0) -> tuple[float, dict[str, int]]:
    """Wait until nothing is queued or running; seconds from the first start to the last end, and statuses."""
    ends = time.monotonic() + within
    async with await psycopg.AsyncConnection.connect(mesh.dsn(), autocommit=True) as connection:
        while True:
            row = await (
                await connection.execute(
                    "SELECT count(*) FROM agent.runs WHERE status IN ('queued', 'running', 'cancelling')"
                )
            ).fetchone()
            if row and row[0] == 0:
                break
            if time.monotonic() > ends:
                raise TimeoutError(f"{row and row[0]} of {count} runs are left")
            await asyncio.sleep(0.1)
        row = await (
            await connection.execute(
                "SELECT extract(epoch FROM max(finished_at) - min(started_at)) FROM"
                " (SELECT * FROM agent.runs ORDER BY id DESC LIMIT %s) AS last",
                (count,),
            )
        ).fetchone()
        rows = await (
            await connection.execute(
                "SELECT status, count(*) FROM (SELECT * FROM agent.runs ORDER BY id DESC LIMIT %s) AS last"
                " GROUP BY 1",
                (count,),
            )
        ).fetchall()
    return float(row[0]) if row and row[0] else float("nan"), {str(r[0]): int(r[1]) for r in rows}


async def statements_counted(mesh: Embedded) -> None:
    """Restart the server with pg_stat_statements, so that `server_counts` knows statements too."""
    with psycopg.connect(mesh.dsn(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    was = mesh.pid("postgres")
    await mesh.kill("postgres")  # the supervisor starts it again
    while True:
        await asyncio.sleep(0.2)
        with suppress(psycopg.Error, AssertionError):
            if mesh.pid("postgres") == was:
                continue
            with psycopg.connect(mesh.dsn(), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            return


_COUNTED = """
SELECT count(*) FILTER (WHERE r.status = 'succeeded'),
       count(*) FILTER (WHERE r.status IN ('queued', 'running', 'waiting', 'paused', 'cancelling')),
       count(*) FILTER (WHERE (SELECT count(*) FROM agent.messages m
                                WHERE m.run_id = r.id AND m.author = 'assistant') <> 1
                           OR (SELECT count(*) FROM agent.finalizations f WHERE f.run_id = r.id) <> 1
                           OR (SELECT count(*) FROM agent.run_events e
                                WHERE e.run_id = r.id AND e.type = 'run.finalized') <> 1
                           OR (SELECT count(*) FROM agent.effects x
                                WHERE x.run_id = r.id AND x.state = 'completed') <> %(effects)s)
  FROM agent.runs r
"""


async def reckoned(mesh: Embedded, runs: int, effects: int = 0) -> dict[str, int]:
    """0 lost and 0 double after a load: every run ended once, said one thing, did its effects once; all invariants.

    Raises RuntimeError when anything is wrong.
    """
    with psycopg.connect(mesh.dsn(), autocommit=True) as connection:
        row = connection.execute(_COUNTED, {"effects": effects}).fetchone()
    assert row is not None
    violations = await check_invariants(mesh.dsn())
    told = {"runs": runs, "lost": runs - int(row[0]), "double": int(row[2]), "violations": len(violations)}
    if told["lost"] or told["double"] or violations or row[1]:
        raise RuntimeError(f"after the load: {told}, left {row[1]}, {violations[:3]}")
    return told
