-- find_expired_leases --
-- Why: runs whose owner went silent. Only candidates: each is locked and judged again by itself (case WF-2).
-- Locks: none.  Clock: database.
-- Result: run ids in order, at most :batch, by runs_leased_idx; unless :leases_count (within a grace) only those
--      that were given up by the next boot of their owner's slot, which leaves no claim_nonce.
SELECT id
  FROM agent.runs
 WHERE status = 'running'
   AND status IN ('running', 'cancelling')
   AND id > :after
   AND (CAST(:only AS uuid) IS NULL OR id = :only)
   AND lease_expires_at <= statement_timestamp()
   AND (:leases_count OR claim_nonce IS NULL)
 ORDER BY id
 LIMIT :batch;

-- find_drained --
-- Why: cancelling runs that nobody drains any more: all their attempts and children ended, or the wait is over.
-- Locks: none.  Clock: database.
-- Result: run ids in order; those with a lease only when :leases_count (not within an outage's grace).
SELECT r.id
  FROM agent.runs r
 WHERE r.status = 'cancelling'
   AND r.status IN ('running', 'cancelling')
   AND r.id > :after
   AND (CAST(:only AS uuid) IS NULL OR r.id = :only)
   AND (r.lease_expires_at IS NULL
        OR (:leases_count OR r.claim_nonce IS NULL) AND r.lease_expires_at <= statement_timestamp())
   AND (r.drain_until <= statement_timestamp()
        OR NOT EXISTS (SELECT FROM agent.effect_attempts a WHERE a.run_id = r.id AND a.state = 'started')
           AND NOT EXISTS (SELECT FROM agent.runs c WHERE c.parent_run_id = r.id AND c.finished_at IS NULL))
 ORDER BY r.id
 LIMIT :batch;

-- find_expired_interrupts --
-- Why: questions nobody answered in time, whatever their run does meanwhile.
-- Locks: none.  Clock: database.
-- Result: interrupt and run ids, by interrupt.
WITH due AS MATERIALIZED (  -- else the planner walks the primary key for the order's sake
    SELECT id, run_id FROM agent.interrupts WHERE status = 'open' AND expires_at <= statement_timestamp()
)
SELECT id, run_id
  FROM due
 WHERE id > :after
 ORDER BY id
 LIMIT :batch;

-- find_passed_deadlines --
-- Why: runs out of time. The clock of those that wait for a person stands still: their deadline is infinity.
-- Locks: none.  Clock: database.
-- Result: run ids in order, by runs_deadline_idx.
WITH due AS MATERIALIZED (
    SELECT id
      FROM agent.runs
     WHERE status IN ('queued', 'running', 'waiting', 'paused')
       AND deadline_at < 'infinity'
       AND deadline_at <= statement_timestamp()
)
SELECT id FROM due WHERE id > :after ORDER BY id LIMIT :batch;

-- find_ended_pauses --
-- Why: pauses that nobody ended.
-- Locks: none.  Clock: database.
-- Result: run ids in order, by runs_paused_idx; under the run's lock with :only the answer is final.
WITH due AS MATERIALIZED (
    SELECT id
      FROM agent.runs
     WHERE status = 'paused'
       AND paused_until <= statement_timestamp()
       AND (CAST(:only AS uuid) IS NULL OR id = :only)
)
SELECT id FROM due WHERE id > :after ORDER BY id LIMIT :batch;

-- find_ended_waits --
-- Why: waiting runs whose wait is over though nobody woke them (the safety net of 02 §4, `wakes`). A walk: a round
--      looks at :batch runs of each kind of wait at most, so that a million open questions cost no more than a few.
--      (A scalar subquery, not NOT EXISTS: that one is hashed over the whole table.)
-- Locks: none.  Clock: database.
-- Result: by kind of wait, how many were looked at, the last of them, and the ids whose wait is over. Asked again
--      for one run under its lock.
WITH looked AS MATERIALIZED (
    SELECT k.kind, r.id, r.module, r.graph_version, r.root_run_id, r.available_at
      FROM unnest(CAST(:kinds AS text[]), CAST(:afters AS uuid[])) AS k (kind, after)
      CROSS JOIN LATERAL (SELECT * FROM agent.runs w
                           WHERE w.status = 'waiting' AND w.waiting_on = k.kind AND w.id > k.after
                           ORDER BY w.id LIMIT :batch) AS r
), ended AS (
    SELECT r.kind, r.id
      FROM looked r
     WHERE CASE r.kind
             WHEN 'tool' THEN
                  r.available_at <= statement_timestamp()
                  AND (SELECT 1 FROM agent.effects e WHERE e.run_id = r.id AND e.state IN ('started', 'accepted') LIMIT 1) IS NULL
             WHEN 'child' THEN
                  (SELECT 1 FROM agent.runs c WHERE c.parent_run_id = r.id AND c.finished_at IS NULL LIMIT 1) IS NULL
             WHEN 'version' THEN
                  EXISTS (SELECT FROM agent.workers w
                           WHERE w.alive_until > statement_timestamp()
                             AND r.module = ANY (w.modules)
                             AND (r.graph_version = '' OR r.graph_version = ANY (w.versions)))
             WHEN 'reconcile' THEN
                  (SELECT 1 FROM agent.interrupts i WHERE i.run_id = r.id AND i.status = 'open' LIMIT 1) IS NULL
                  OR (SELECT 1 FROM agent.effects e
                       WHERE e.root_run_id = r.root_run_id
                         AND e.state IN ('started', 'accepted', 'unknown', 'needs_human', 'compensating') LIMIT 1) IS NULL
             ELSE (SELECT 1 FROM agent.interrupts i WHERE i.run_id = r.id AND i.status = 'open' LIMIT 1) IS NULL
           END
)
SELECT l.kind, count(*) AS looked, CAST(max(CAST(l.id AS text)) AS uuid) AS upto,
       coalesce(array_agg(e.id ORDER BY e.id) FILTER (WHERE e.id IS NOT NULL), '{}') AS ended
  FROM looked l
  LEFT JOIN ended e ON e.id = l.id
 GROUP BY l.kind;

-- find_overdue_attempts --
-- Why: effect attempts whose executor can't be at work any more: their end is past and no outcome came.
-- Locks: none.  Clock: database.
-- Result: run, effect and attempt, by run; tasks accepted elsewhere (async) are polled, not timed out.
SELECT a.run_id, a.effect_key, a.attempt
  FROM agent.effect_attempts a
  JOIN agent.effects e USING (effect_key)
 WHERE a.state = 'started'
   AND a.attempt_ends_at <= statement_timestamp()
   AND e.class <> 'async'
   AND a.run_id > :after
 ORDER BY a.run_id, a.effect_key
 LIMIT :batch;

-- lock_effect_for_sweep --
-- Why: effect before attempt, after the run: the lock order.
-- Locks: the effect, FOR NO KEY UPDATE.  Clock: none.
-- Result: its state, tool and index.
SELECT state, tool, index FROM agent.effects WHERE effect_key = :effect_key FOR NO KEY UPDATE;

-- time_out_attempt --
-- Why: a time-out is no proof of failure: the attempt becomes unknown, once, if no outcome came meanwhile.
-- Locks: the attempt, then the effect (held).  Clock: database.
-- Result: the effect's key, or no row.
WITH ended AS (
    UPDATE agent.effect_attempts
       SET state = 'unknown',
           settled_at = clock_timestamp(),
           settled_by = 'reconciler'
     WHERE effect_key = :effect_key
       AND attempt = :attempt
       AND state = 'started'
       AND attempt_ends_at <= clock_timestamp()
    RETURNING effect_key
)
UPDATE agent.effects e
   SET state = 'unknown',
       next_look_at = clock_timestamp(),
       updated_at = clock_timestamp()
  FROM ended
 WHERE e.effect_key = ended.effect_key
   AND e.state IN ('started', 'accepted')
RETURNING e.effect_key;

-- find_due_effects --
-- Why: what isn't known and may be asked about now. Asked twice by two reconcilers it is read twice, no more.
-- Locks: none.  Clock: database.
-- Result: run and index of each. One that waits for its run's own repeat (no instant) is shown every 30 s.
SELECT run_id, index
  FROM agent.effects
 WHERE state IN ('unknown', 'absent')
   AND state IN ('started', 'accepted', 'unknown', 'absent', 'needs_human')
   AND class IN ('external_idempotent', 'external_queryable', 'external_opaque')
   AND (next_look_at <= statement_timestamp()
        OR next_look_at IS NULL AND updated_at <= statement_timestamp() - interval '30 seconds')
   AND effect_key <> ALL (CAST(:but AS text[]))
 ORDER BY next_look_at
 LIMIT :batch;

-- unconfirmed_effects --
-- Why: what a stopped run can't vouch for: its finalization names them.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: effects that may have reached the world, or may still.
SELECT effect_key, index, tool, state
  FROM agent.effects
 WHERE run_id = :run_id
   AND state IN ('started', 'accepted', 'unknown', 'needs_human', 'compensating')
 ORDER BY index;

-- undone_actions --
-- Why: what a stopped run had prepared and never did.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: the tools' names, in order.
SELECT a.tool
  FROM agent.actions a
 WHERE a.run_id = :run_id
   AND a.status IN ('prepared', 'approved', 'expired')
   AND NOT EXISTS (SELECT FROM agent.effect_attempts t JOIN agent.effects e USING (effect_key)
                    WHERE e.run_id = a.run_id AND e.index = a.index)
 ORDER BY a.index;

-- usage_for_ending --
-- Why: what the run cost, for its finalization.
-- Locks: none.  Clock: none.
-- Result: one row.
SELECT count(*) AS model_calls, coalesce(sum(c.input_tokens), 0) AS input_tokens,
       coalesce(sum(c.output_tokens), 0) AS output_tokens, CAST(trim_scale(coalesce(sum(c.cost), 0)) AS text) AS cost,
       coalesce(max(c.currency), 'USD') AS currency
  FROM agent.model_calls c
 WHERE c.run_id = :run_id;

-- completed_effects --
-- Why: what a stopped run did change, for its finalization; a reading changes nothing.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: key and tool, in order.
SELECT effect_key, tool
  FROM agent.effects
 WHERE run_id = :run_id
   AND state = 'completed'
   AND class <> 'none'
 ORDER BY index;

-- database_answers --
-- Why: the sweeps ask whether the database answers before they judge who went silent.
-- Locks: none.  Clock: none.
-- Result: one row.
SELECT 1 AS answers;

-- ensure_partitions --
-- Why: month partitions of the log exist before their month does.
-- Locks: an advisory one inside the function.  Clock: database.
-- Result: how many were made.
SELECT agent.ensure_partitions(:ahead) AS made;

-- default_partition_is_used --
-- Why: events outside every month's partition still have a place, and an operator has to be told.
-- Locks: none.  Clock: none.
-- Result: one row.
SELECT EXISTS (SELECT FROM agent.run_events_default) AS used;

-- prune_feed --
-- Why: the feed is resumable for 24 h; kept twice as long.
-- Locks: the rows it deletes (a rival waits and finds them gone).  Clock: database.
-- Result: none; the row count.
DELETE FROM agent.feed
 WHERE id IN (SELECT id FROM agent.feed WHERE at < statement_timestamp() - interval '48 hours'
               ORDER BY at LIMIT :batch);

-- prune_outbox --
-- Why: published hints are kept a day, so that `verify` and operators can see them; parked ones stay.
-- Locks: the rows it deletes (a rival waits and finds them gone).  Clock: database.
-- Result: none; the row count.
DELETE FROM agent.outbox
 WHERE id IN (SELECT id FROM agent.outbox WHERE published_at < statement_timestamp() - interval '24 hours'
               ORDER BY published_at LIMIT :batch);

-- prune_inbox --
-- Why: a broker redelivers for days at most (topics keep an hour); after two weeks a repeat can't come.
-- Locks: the rows it deletes (a rival waits and finds them gone).  Clock: database.
-- Result: none; the row count.
DELETE FROM agent.inbox
 WHERE (consumer, event_id) IN (SELECT consumer, event_id FROM agent.inbox
                                 WHERE received_at < statement_timestamp() - interval '14 days'
                                 ORDER BY received_at LIMIT :batch);
