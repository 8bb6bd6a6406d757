"""Rights (design 02 §12): every privilege of every role, compared; and the forbidden, tried as each role.

`FENCEPOST_UPDATE_GOLDEN=1 pytest tests/store/test_rights.py` writes golden/rights.txt anew; the diff is then
what a review has to agree with.
"""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives
from tests.support.postgres import SERVICES, Database

GOLDEN = Path(__file__).parent / "golden" / "rights.txt"
ROLES = tuple(f"fencepost_{service}" for service in SERVICES)
SCHEMAS = ("agent", "langgraph", "app", "fencepost", "public")

PRIVILEGES = """
WITH grantees AS (
    SELECT oid, rolname FROM pg_roles WHERE rolname = ANY (%(roles)s) UNION ALL SELECT 0, 'PUBLIC'
), granted (grantee, privilege, thing, columns) AS (
    SELECT a.grantee, a.privilege_type, 'schema ' || n.nspname, NULL
      FROM pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a
     WHERE n.nspname = ANY (%(schemas)s)
    UNION ALL
    SELECT a.grantee, a.privilege_type, n.nspname || '.' || c.relname, NULL
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, acldefault(
          CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) AS a
     WHERE n.nspname = ANY (%(schemas)s) AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
       AND c.relname !~ '_[0-9]{6}$'  -- month partitions: their own test
    UNION ALL
    SELECT a.grantee, a.privilege_type, n.nspname || '.' || c.relname,
           string_agg(t.attname, ', ' ORDER BY t.attname)
      FROM pg_attribute t
      JOIN pg_class c ON c.oid = t.attrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
      CROSS JOIN LATERAL aclexplode(t.attacl) AS a
     WHERE n.nspname = ANY (%(schemas)s) AND NOT t.attisdropped
     GROUP BY 1, 2, 3
    UNION ALL
    SELECT a.grantee, a.privilege_type,
           CASE WHEN p.prosecdef THEN 'definer ' ELSE '' END || 'function ' || p.oid::regprocedure::text, NULL
      FROM pg_proc p
      JOIN pg_namespace n ON n.oid = p.pronamespace
      CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
     WHERE n.nspname = ANY (%(schemas)s)
)
SELECT g.rolname || ': ' || e.privilege || ' ' || e.thing || coalesce(' (' || e.columns || ')', '') AS line
  FROM granted e
  JOIN grantees g ON g.oid = e.grantee
 ORDER BY g.rolname, e.thing, e.privilege, 1
"""
ROLE_LINES = """
SELECT rolname || ': ' || concat_ws(' ',
       CASE WHEN rolsuper THEN 'SUPERUSER' END, CASE WHEN rolbypassrls THEN 'BYPASSRLS' END,
       CASE WHEN rolcreatedb THEN 'CREATEDB' END, CASE WHEN rolcreaterole THEN 'CREATEROLE' END,
       CASE WHEN rolreplication THEN 'REPLICATION' END, 'set ' || array_to_string(rolconfig, ', ')) AS line
  FROM pg_roles WHERE rolname = ANY (%(roles)s)
UNION ALL
SELECT m.rolname || ': member of ' || r.rolname
  FROM pg_auth_members a JOIN pg_roles m ON m.oid = a.member JOIN pg_roles r ON r.oid = a.roleid
 WHERE m.rolname = ANY (%(roles)s)
 ORDER BY 1
"""


def lines(database: Database, query: str) -> list[str]:
    with psycopg.connect(database.admin, autocommit=True) as connection:
        found = connection.execute(query, {"roles": list(ROLES), "schemas": list(SCHEMAS)})
        return [row[0] for row in found]


def test_every_privilege_is_one_that_was_agreed(database: Database) -> None:
    now = [*lines(database, ROLE_LINES), *lines(database, PRIVILEGES)]
    if os.environ.get("FENCEPOST_UPDATE_GOLDEN"):
        GOLDEN.write_text("\n".join(now) + "\n")
    agreed = GOLDEN.read_text().splitlines()
    more, less = sorted(set(now) - set(agreed)), sorted(set(agreed) - set(now))
    assert (more, less) == ([], []), "grants changed: see this file's first lines"


def test_no_service_may_do_what_no_service_does(database: Database) -> None:
    """Whatever the golden file says: these would undo a promise."""
    held = lines(database, PRIVILEGES)
    assert [
        line for line in held if " TRUNCATE " in line or " REFERENCES " in line or " TRIGGER " in line
    ] == []
    assert [
        line for line in held if "agent.run_event" in line and (" UPDATE " in line or " DELETE " in line)
    ] == []
    assert [
        line for line in held if "finalizations" in line and (" UPDATE " in line or " DELETE " in line)
    ] == []
    assert [line for line in held if line.startswith("fencepost_worker") and " app." in line] == []
    assert [line for line in held if line.startswith("PUBLIC") and "function" in line] == []


def test_month_partitions_grant_nothing_beside_their_parent(database: Database) -> None:
    query = """SELECT c.relname AS line FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'agent' AND c.relispartition AND c.relname ~ '_[0-9]{6}$'
                  AND EXISTS (SELECT FROM aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
                               WHERE r.rolname = ANY (%(roles)s))"""
    assert lines(database, query) == []


def test_a_function_that_runs_as_the_owner_has_a_fixed_path(database: Database) -> None:
    query = """SELECT p.oid::regprocedure::text AS line
                 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname = ANY (%(schemas)s) AND p.prosecdef
                  AND NOT coalesce(array_to_string(p.proconfig, ','), '') LIKE 'search_path=pg_catalog%%'"""
    assert lines(database, query) == []


def test_i27_row_level_security_is_forced_on_every_tenants_table(database: Database) -> None:
    query = """SELECT n.nspname || '.' || c.relname AS line
                 FROM pg_class c
                 JOIN pg_namespace n ON n.oid = c.relnamespace
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
                WHERE n.nspname = ANY (%(schemas)s) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                  AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
                ORDER BY 1"""
    # tenant_turns: which tenant was served when; only the worker's claim reads it, no caller ever does.
    assert lines(database, query) == ["agent.tenant_turns"]


def test_each_role_has_limits_under_half_a_lease(database: Database) -> None:
    """A frozen process must not block its own take-over (02 §2)."""
    for service in SERVICES:
        with psycopg.connect(database.dsn(service), autocommit=True) as connection:
            for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
                setting = connection.execute(
                    "SELECT setting::int FROM pg_settings WHERE name = %s", [name]
                ).fetchone()
                assert setting is not None
                assert 0 < setting[0] < 2_500, f"{service}: {name}"


DENIED = [
    ("api", "UPDATE agent.runs SET lease_owner = 'me'"),
    ("api", "UPDATE agent.runs SET tenant_id = gen_random_uuid()"),
    ("api", "SELECT * FROM langgraph.checkpoints"),
    ("api", "INSERT INTO app.reminders (id) VALUES (gen_random_uuid())"),
    ("api", "INSERT INTO agent.effect_attempts (effect_key) VALUES ('k')"),
    ("api", "UPDATE agent.effects SET state = 'completed'"),
    ("api", "INSERT INTO agent.actions (run_id) VALUES (gen_random_uuid())"),
    ("worker", "SELECT * FROM app.reminders"),
    ("worker", "INSERT INTO app.ledger_entries (id) VALUES (gen_random_uuid())"),
    ("worker", "UPDATE agent.effects SET state = 'completed'"),
    ("worker", "INSERT INTO agent.effect_attempts (effect_key) VALUES ('k')"),
    ("worker", "UPDATE agent.actions SET decision = 'approve'"),
    ("worker", "UPDATE agent.interrupts SET resolution = '{}'"),
    ("worker", "INSERT INTO agent.interrupts (id, status) VALUES (gen_random_uuid(), 'resolved')"),
    ("worker", "INSERT INTO agent.interrupts (id, opened_at) VALUES (gen_random_uuid(), now())"),
    ("worker", "UPDATE agent.runs SET tenant_id = gen_random_uuid()"),
    ("worker", "INSERT INTO agent.runs (id) VALUES (gen_random_uuid())"),
    ("gateway", "UPDATE agent.runs SET status = 'succeeded', revision = revision + 1"),
    ("gateway", "UPDATE agent.runs SET lease_expires_at = 'infinity'"),
    ("gateway", "UPDATE agent.actions SET decision = 'approve'"),
    ("gateway", "UPDATE agent.interrupts SET resolution = '{}'"),
    ("gateway", "INSERT INTO agent.finalizations (run_id) VALUES (gen_random_uuid())"),
    ("gateway", "INSERT INTO agent.messages (id) VALUES (gen_random_uuid())"),
    ("gateway", "SELECT * FROM langgraph.checkpoints"),
    ("gateway", "SELECT * FROM agent.messages"),
    ("reconciler", "UPDATE app.reminders SET next_at = now()"),
    ("reconciler", "INSERT INTO app.reminders (id) VALUES (gen_random_uuid())"),
    ("reconciler", "UPDATE agent.interrupts SET resolution = '{}'"),
    ("reconciler", "UPDATE agent.actions SET decision = 'approve'"),
    ("reconciler", "INSERT INTO agent.effect_attempts (effect_key) VALUES ('k')"),
    ("reconciler", "UPDATE langgraph.checkpoints SET body = ''"),
    ("reconciler", "UPDATE agent.runs SET input = '{}'"),
    *(
        (service, statement)
        for service in SERVICES
        for statement in (
            "UPDATE agent.run_events SET actor = 'x'",
            "DELETE FROM agent.run_events",
            "TRUNCATE agent.run_events",
            "UPDATE agent.run_event_payloads SET payload = ''",
            "DELETE FROM agent.run_event_payloads",
            "DELETE FROM agent.runs",
            "UPDATE agent.finalizations SET status = 'succeeded'",
            "DELETE FROM agent.finalizations",
            "UPDATE agent.run_transitions SET role = 'api'",
            "INSERT INTO agent.audit (actor, what) VALUES ('x', 'y')",
            "UPDATE agent.catalogs SET body = ''",
            "DELETE FROM agent.firings",
            "CREATE TABLE agent.mine (id int)",
            "CREATE TABLE public.mine (id int)",
            "ALTER TABLE agent.runs DISABLE TRIGGER ALL",
            "SET session_replication_role = replica",
        )
    ),
]


@pytest.mark.parametrize("service", SERVICES)
def test_the_forbidden_is_refused(database: Database, service: str) -> None:
    """One database a service, all its forbidden statements: each is refused for want of a right."""
    let_through = []
    with psycopg.connect(database.dsn(service)) as connection:
        connection.execute("SELECT set_config('fencepost.tenant', %s, false)", [str(TENANT)])
        connection.commit()
        for _, statement in [one for one in DENIED if one[0] == service]:
            try:
                connection.execute(statement)
                let_through.append(statement)
            except psycopg.errors.InsufficientPrivilege:
                pass
            connection.rollback()
    assert let_through == []


WRONG_WAY = [
    ("api", "queued", "running"),
    ("worker", "queued", "cancelled"),
    ("worker", "running", "cancelling"),
    ("reconciler", "queued", "running"),
    ("reconciler", "running", "succeeded"),
]


@pytest.mark.parametrize(("service", "before", "after"), WRONG_WAY)
async def test_i06_the_database_refuses_a_change_that_is_another_roles(
    lives: Lives, service: str, before: str, after: str
) -> None:
    run_id = (await lives.claimed()).run.id if before == "running" else await lives.queued()
    with psycopg.connect(lives.database.dsn(service)) as connection:
        connection.execute("SELECT set_config('fencepost.tenant', %s, false)", [str(TENANT)])
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(
                "UPDATE agent.runs SET status = %s, revision = revision + 1 WHERE id = %s", [after, run_id]
            )
    assert refused.value.sqlstate == "FP001"
    assert "may not go from" in str(refused.value)


@pytest.mark.parametrize("service", ["api", "gateway"])
async def test_i27_another_tenants_rows_are_not_there(lives: Lives, service: str) -> None:
    """Seen, locked, changed, added: for each of the two services that act for one tenant."""
    run_id = (await lives.waiting(tenant=OTHER_TENANT))[0].run.id
    with psycopg.connect(lives.database.dsn(service), autocommit=True) as connection:

        def found(query: str) -> int:
            return len(connection.execute(query).fetchall())

        for tenant, rows in ((None, 0), (TENANT, 0), (OTHER_TENANT, 1)):
            connection.execute("SELECT set_config('fencepost.tenant', %s, false)", [str(tenant or "")])
            for table in ("agent.runs", "agent.interrupts", "agent.actions"):
                assert found(f"SELECT tenant_id FROM {table}") == rows, table
            assert found("SELECT id FROM agent.runs FOR NO KEY UPDATE") == rows
            assert connection.execute("UPDATE agent.runs SET wakes = wakes").rowcount == rows
        connection.execute("SELECT set_config('fencepost.tenant', %s, false)", [str(TENANT)])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, publish_at)"
                " VALUES (gen_random_uuid(), %s, %s, 'life', 'x', now())",
                [OTHER_TENANT, run_id],
            )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO agent.feed (tenant_id, user_id, kind, data) VALUES (%s, %s, 'x', '{}')",
                [OTHER_TENANT, USER],
            )


async def test_i20_history_refuses_even_its_owner(lives: Lives) -> None:
    run_id = await lives.queued()
    for statement in (
        "UPDATE agent.run_events SET actor = 'x' WHERE run_id = %s",
        "DELETE FROM agent.run_events WHERE run_id = %s",
        "UPDATE agent.run_event_payloads SET payload = '' WHERE run_id = %s",
    ):
        with pytest.raises(psycopg.Error) as refused:
            await lives.sql(statement, run_id)
        assert refused.value.sqlstate == "FP002"
    with pytest.raises(psycopg.Error):
        await lives.sql("TRUNCATE agent.run_events")
