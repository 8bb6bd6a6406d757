-- inspect_server --
-- Why: what an operator must know of the server before trusting it.
-- Locks: none.  Clock: database.
-- Result: one row.
SELECT current_setting('server_version_num')::int AS version,
       ARRAY(SELECT s.name FROM pg_settings s
              WHERE s.name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND s.setting = 'off'
              ORDER BY s.name) AS off,
       (SELECT count(*) FROM pg_stat_replication r WHERE r.sync_state = 'async') AS async_standbys,
       to_regclass('agent.runs') IS NOT NULL AS has_schema,
       ARRAY(SELECT w.name
               FROM unnest(ARRAY['fencepost_api', 'fencepost_gateway', 'fencepost_reconciler', 'fencepost_worker']) AS w (name)
              WHERE NOT EXISTS (SELECT FROM pg_roles p WHERE p.rolname = w.name)
              ORDER BY w.name) AS missing_roles,
       clock_timestamp() AS now;

-- inspect_outbox --
-- Why: are hints going out?
-- Locks: none.  Clock: database.
-- Result: one row: hints older than a minute, hints parked for good.
SELECT count(*) FILTER (WHERE o.parked_at IS NULL AND o.publish_at < clock_timestamp() - interval '1 minute') AS late,
       count(*) FILTER (WHERE o.parked_at IS NOT NULL) AS parked
  FROM agent.outbox o
 WHERE o.published_at IS NULL;

-- inspect_work --
-- Why: is work moving, and does anything wait that a sweep should have ended?
-- Locks: none.  Clock: database.
-- Result: one row of counts; `idle_modules`: modules with due work and no living worker.
SELECT (SELECT count(*) FROM agent.workers w WHERE w.alive_until > clock_timestamp()) AS workers,
       ARRAY(SELECT DISTINCT r.module FROM agent.runs r
              WHERE r.status = 'queued' AND r.available_at < clock_timestamp() - interval '10 seconds'
                AND NOT EXISTS (SELECT FROM agent.workers w
                                 WHERE w.alive_until > clock_timestamp() AND r.module = ANY (w.modules))
              ORDER BY 1) AS idle_modules,
       (SELECT count(*) FROM agent.runs r WHERE r.status = 'waiting' AND r.waiting_on = 'version') AS unserved,
       (SELECT count(*) FROM agent.runs r
         WHERE r.status IN ('running', 'cancelling') AND r.lease_expires_at < clock_timestamp() - interval '10 seconds')
     + (SELECT count(*) FROM agent.interrupts i
         WHERE i.status = 'open' AND i.expires_at < clock_timestamp() - interval '10 seconds')
     + (SELECT count(*) FROM agent.effect_attempts a
         WHERE a.state = 'started' AND a.attempt_ends_at < clock_timestamp() - interval '30 seconds') AS overdue,
       (SELECT count(*) FROM agent.effects e WHERE e.state = 'needs_human') AS needs_human,
       (SELECT count(*) FROM agent.runs r
         WHERE r.status IN ('queued', 'running') AND r.attempt >= r.max_attempts - 1) AS nearly_used,
       (SELECT count(*) FROM agent.poison_records) AS poison;

-- schema_revision --
-- Why: which core migration the database is at.
-- Locks: none.  Clock: none.
-- Result: the revision.
SELECT version_num FROM fencepost.fencepost_schema_core;
