-- is_past --
-- Why: a month that isn't over is not dropped; the database's clock decides.
-- Locks: none.  Clock: database.
-- Result: one row.
SELECT CAST(:before AS timestamptz) <= clock_timestamp() AS is_past;

-- log_months --
-- Why: which month partitions of the log lie wholly before an instant; both tables have the same months.
-- Locks: none.  Clock: none.
-- Result: the first instants of the months, the oldest first.
SELECT to_timestamp(right(c.relname, 6) || '01 +00', 'YYYYMMDD TZH') AS month
  FROM pg_class c
  JOIN pg_namespace s ON s.oid = c.relnamespace AND s.nspname = 'agent'
 WHERE c.relname ~ '^run_events_[0-9]{6}$'
   AND to_timestamp(right(c.relname, 6) || '01 +00', 'YYYYMMDD TZH') + interval '1 month' <= CAST(:before AS timestamptz)
 ORDER BY 1;

-- month_runs --
-- Why: how many runs a month's partition holds.
-- Locks: none.  Clock: none.
-- Result: one row.
SELECT count(*) AS runs
  FROM agent.runs
 WHERE id >= agent.uuid7_floor(CAST(:month AS timestamptz))
   AND id < agent.uuid7_floor(CAST(:month AS timestamptz) + interval '1 month');

-- month_keepers --
-- Why: a month's log goes only when nothing of it may still be needed: each of its runs has ended before the instant, has no
-- effect that is open, and left a signed anchor of its very end, by which `verify` says pruned and not missing (02 §8).
-- Locks: none; asked again once the log's tables are locked.  Clock: none.
-- Result: runs that keep it, with why; the first eleven.
SELECT k.id, k.why
  FROM (SELECT r.id,
               CASE WHEN r.finished_at IS NULL THEN 'live'
                    WHEN r.finished_at >= CAST(:before AS timestamptz) THEN 'ended_since'
                    WHEN EXISTS (SELECT FROM agent.effects e
                                  WHERE e.run_id = r.id
                                    AND e.state IN ('started', 'accepted', 'unknown', 'needs_human', 'compensating')) THEN 'open_effect'
                    WHEN NOT EXISTS (SELECT FROM agent.chain_anchors a
                                      WHERE a.run_id = r.id AND a.seq = r.event_seq AND a.hash = r.event_head) THEN 'not_anchored' END AS why
          FROM agent.runs r
         WHERE r.id >= agent.uuid7_floor(CAST(:month AS timestamptz))
           AND r.id < agent.uuid7_floor(CAST(:month AS timestamptz) + interval '1 month')) AS k
 WHERE k.why IS NOT NULL
 ORDER BY k.id
 LIMIT 11;

-- note_dropped --
-- Why: who dropped which month's log, and why.
-- Locks: none.  Clock: database.
-- Result: none.
INSERT INTO agent.audit (actor, what, detail)
VALUES (:actor, 'log.dropped', jsonb_build_object('month', CAST(:name AS text), 'runs', CAST(:runs AS bigint),
        'reason', CAST(:reason AS text)));
