"""Sweeps cost what they find, not what there is (design 09: a million waiting, ten million finished runs).

Time is a poor witness on a shared machine, so the plan is asked: on tables where nearly every row is of no
interest, each statement reaches its candidates by an index that holds nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fencepost_domain.vocabulary import WaitingOn
from fencepost_store.raw import raw
from fencepost_store.sweeps import FIRST

from tests.support.lives import MODULE, OTHER_TENANT, USER
from tests.support.postgres import Cluster

MANY = 20_000
FILL = f"""
SET session_replication_role = replica;
INSERT INTO agent.conversations (id, tenant_id, user_id) VALUES ('{UUID(int=1)}', '{OTHER_TENANT}', '{USER}');
INSERT INTO agent.runs (id, tenant_id, user_id, roles, module, status, waiting_on, conversation_id,
                        root_run_id, input, locale, currency, route, idempotency_key, request_hash,
                        finished_at, deadline_at, graph_version)
SELECT id, '{OTHER_TENANT}', '{USER}', '{{}}', '{MODULE}', status, waiting_on, '{UUID(int=1)}', id,
       '{{}}', 'en', 'CNY', 'r', id, 'h', CASE WHEN status = 'succeeded' THEN now() END,
       CASE WHEN status = 'succeeded' THEN 'infinity' ELSE now() + interval '1 day' END, ''
  FROM (SELECT gen_random_uuid() AS id, CASE WHEN n % 3 = 0 THEN 'waiting' ELSE 'succeeded' END AS status,
               CASE WHEN n % 3 = 0 THEN 'approval' END AS waiting_on
          FROM generate_series(1, {MANY}) AS n) AS made;
INSERT INTO agent.interrupts (id, run_id, tenant_id, user_id, kind, index, n, question, expires_at)
SELECT gen_random_uuid(), id, tenant_id, user_id, 'approval', 0, 1, 'q', now() + interval '7 days'
  FROM agent.runs WHERE status = 'waiting';
INSERT INTO agent.effects (effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state,
                           arguments_hash, request)
SELECT id, id, id, tenant_id, 0, 1, 't', 'local', 'completed', 'h', ''
  FROM agent.runs WHERE status = 'succeeded';
INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state, request,
                                   attempt_ends_at)
SELECT id, 1, id, tenant_id, 'b', 'completed', '', now()
  FROM agent.runs WHERE status = 'succeeded';
INSERT INTO agent.model_calls (id, run_id, tenant_id, call_key, attempt, role, provider, model, state,
                               request_hash, ends_at)
SELECT gen_random_uuid(), id, tenant_id, 'k', 1, 'r', 'p', 'm', 'settled', 'h', now() FROM agent.runs;
INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, publish_at, published_at)
SELECT gen_random_uuid(), tenant_id, id, 'life', 'agent.run.requested.v1',
       now() + CASE WHEN status = 'waiting' THEN interval '1 day' ELSE interval '0' END,
       CASE WHEN status = 'succeeded' THEN now() END FROM agent.runs;
INSERT INTO agent.feed (tenant_id, user_id, kind, data)
SELECT tenant_id, user_id, 'run.status', '{{}}' FROM agent.runs;
INSERT INTO agent.inbox (consumer, event_id) SELECT 'c', id FROM agent.runs;
INSERT INTO app.reminders (id, tenant_id, user_id, title, locale, zone, dtstart, next_at, origin_effect_key)
SELECT gen_random_uuid(), tenant_id, user_id, 't', 'en', 'UTC', now() + interval '1 day',
       now() + interval '1 day', id
  FROM agent.runs;
ANALYZE;
"""
ONE_ROUND = {"after": FIRST, "batch": 100, "only": None, "leases_count": True}
STATEMENTS: dict[str, dict[str, Any]] = {
    "find_expired_leases": ONE_ROUND,
    "find_drained": ONE_ROUND,
    "find_expired_interrupts": ONE_ROUND,
    "find_passed_deadlines": ONE_ROUND,
    "find_ended_pauses": ONE_ROUND,
    "find_ended_waits": {
        "kinds": [str(on) for on in WaitingOn],
        "afters": [FIRST] * len(WaitingOn),
        "batch": 100,
    },
    "find_overdue_attempts": ONE_ROUND,
    "time_out_model_calls": ONE_ROUND,
    "find_due_reminders": ONE_ROUND,
    "take_due_outbox": {"batch": 100, "owner": "o", "lease": "5 s"},
    "prune_feed": ONE_ROUND,
    "prune_outbox": ONE_ROUND,
    "prune_inbox": ONE_ROUND,
    "unserved_runs": {},
    "what_is_due": {},
}
COMPLETED = {"what_is_due": {"reminders": f" UNION ALL ({raw('are_reminders_due')})"}}
MOST_ROWS = 1_500  # looked at in one round, of the many


@pytest.fixture(scope="module")
async def filled(
    postgres_cluster: Cluster, migrated_template: str
) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    name = "fencepost_scale"
    database = postgres_cluster.create(name, migrated_template)
    async with await psycopg.AsyncConnection.connect(database.admin, autocommit=True) as connection:
        await connection.execute(FILL)
    async with await psycopg.AsyncConnection.connect(
        database.dsn("reconciler"), autocommit=True
    ) as connection:
        yield connection
    postgres_cluster.drop(name)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def touched(node: dict[str, Any]) -> int:
    """Rows that a scan read, thrown away ones among them."""
    each: float = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return round(each * node["Actual Loops"])


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_sweep_costs_what_it_finds(filled: psycopg.AsyncConnection[Any], name: str) -> None:
    statement = raw(name, **COMPLETED.get(name, {}))
    wanted = {p: v for p, v in STATEMENTS[name].items() if f"%({p})s" in statement}
    async with filled.transaction(force_rollback=True):
        cursor = await filled.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", wanted)
        row = await cursor.fetchone()
    assert row is not None
    scans = [node for node in nodes(row[0][0]["Plan"]) if "Relation Name" in node]
    wide = [
        f"{node['Node Type']} on {node['Relation Name']} read {touched(node)} rows"
        for node in scans
        if touched(node) > MOST_ROWS
    ]
    assert wide == []
    assert scans, "the plan must have looked somewhere"
