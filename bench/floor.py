"""The floor: what five durable steps cost without any engine. A queue, a lease, five fenced commits.

    python -m bench.floor DSN run SECONDS     one worker, 16 runs at a time, until the queue stays empty

The same promises as the product's smallest: a claim under SKIP LOCKED with owner and revision, each step a
commit that carries the whole fence. No events, no budgets, no versions, no messages, no API.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import uvloop

SCHEMA = """
DROP SCHEMA IF EXISTS floor CASCADE;
CREATE SCHEMA floor;
CREATE TABLE floor.runs (id bigint PRIMARY KEY, status text NOT NULL DEFAULT 'queued', owner text,
    revision bigint NOT NULL DEFAULT 0, lease_until timestamptz, input jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(), started_at timestamptz,
    finished_at timestamptz)
    WITH (fillfactor = 70);
CREATE INDEX runs_queued ON floor.runs (id) WHERE status = 'queued';
CREATE TABLE floor.steps (run_id bigint NOT NULL REFERENCES floor.runs (id), n int NOT NULL,
    body bytea NOT NULL, PRIMARY KEY (run_id, n));
"""
ENQUEUE = """INSERT INTO floor.runs (id, input, status)
SELECT g, '{"text": "hello"}', 'held' FROM generate_series(%s::bigint, %s::bigint) AS g"""
RELEASE = "UPDATE floor.runs SET status = 'queued', created_at = clock_timestamp() WHERE status = 'held'"
CLAIM = """WITH picked AS MATERIALIZED (
    SELECT id FROM floor.runs WHERE status = 'queued' ORDER BY id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED)
UPDATE floor.runs r SET status = 'running', owner = %s, revision = revision + 1,
       started_at = clock_timestamp(), lease_until = clock_timestamp() + interval '5 seconds'
  FROM picked WHERE r.id = picked.id RETURNING r.id, r.revision, r.input"""
STEP = """WITH held AS MATERIALIZED (
    SELECT id FROM floor.runs WHERE id = %(id)s AND status = 'running' AND owner = %(owner)s
       AND revision = %(revision)s AND lease_until > clock_timestamp() FOR NO KEY UPDATE),
stored AS (INSERT INTO floor.steps (run_id, n, body) SELECT id, %(n)s, %(body)s FROM held RETURNING run_id),
ended AS (UPDATE floor.runs r SET status = 'succeeded', finished_at = clock_timestamp(), lease_until = NULL
            FROM held WHERE r.id = held.id AND %(n)s = 5)
SELECT count(*) FROM stored"""
RENEW = """UPDATE floor.runs SET lease_until = clock_timestamp() + interval '5 seconds'
 WHERE status = 'running' AND owner = %s"""
SLOTS = 16


async def _run(connections: asyncio.Queue[Any], owner: str, run: int, revision: int) -> None:
    body = b""
    for n in range(1, 6):
        body += b'{"step": %d, "said": "five trivial steps"}' % n
        line = await connections.get()
        try:
            cursor = await line.execute(
                STEP, {"id": run, "owner": owner, "revision": revision, "n": n, "body": body}
            )
            stored = (await cursor.fetchone())[0]
        finally:
            connections.put_nowait(line)
        if not stored:
            return


async def work(dsn: str) -> None:
    """Claim and run until the queue stays empty."""
    owner = f"floor-{os.getpid()}"
    connections: asyncio.Queue[Any] = asyncio.Queue()
    for _ in range(8):
        connections.put_nowait(await psycopg.AsyncConnection.connect(dsn, autocommit=True))
    claims = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    running: set[asyncio.Task[None]] = set()
    beat_at, empty_since = time.monotonic() + 1.5, None
    while True:
        if time.monotonic() >= beat_at:
            beat_at = time.monotonic() + 1.5
            await claims.execute(RENEW, (owner,))
        rows = await (await claims.execute(CLAIM, (SLOTS - len(running), owner))).fetchall()
        for run, revision, _ in rows:
            running.add(asyncio.create_task(_run(connections, owner, run, revision)))
        if running:
            empty_since = None
            done, running = await asyncio.wait(running, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        else:
            empty_since = empty_since or time.monotonic()
            if time.monotonic() - empty_since > float(sys.argv[3]):
                return
            await asyncio.sleep(0.005)


if __name__ == "__main__":
    Path("/proc/self/comm").write_text("floor")
    uvloop.run(work(sys.argv[1]))
