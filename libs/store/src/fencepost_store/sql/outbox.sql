-- take_due_outbox --
-- Why: give one relay rows to publish. A mark on each row, never a cursor over ids: an id is handed out before
--      its commit, and a reader that remembers the last one would pass over what commits later (case EV-1).
-- Locks: the rows it takes, skipping locked ones, until this statement's commit; publishing holds a lease instead.
-- Clock: database.
-- Result: the rows, leased to :owner for :lease, in no order. `attempts` counts this one.
WITH due AS (
    SELECT id
      FROM agent.outbox
     WHERE published_at IS NULL
       AND parked_at IS NULL
       AND publish_at <= statement_timestamp()  -- stable, so that rows due later are not even looked at
       AND (relay_until IS NULL OR relay_until <= clock_timestamp())
     ORDER BY publish_at, id
     LIMIT :batch
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE agent.outbox AS o
   SET relay_owner = :owner,
       relay_until = clock_timestamp() + CAST(:lease AS interval),
       attempts    = o.attempts + 1
  FROM due
 WHERE o.id = due.id
RETURNING o.id, o.run_id, o.module, o.event_type, o.traceparent, o.publish_at, o.created_at, o.attempts;

-- mark_outbox_published --
-- Why: the broker said that it has them. Whoever holds the lease by now, that is true, so no lease is asked for.
-- Locks: the rows, in id order (two relays may mark the same ones).  Clock: database.
-- Result: none; the row count.
WITH told AS MATERIALIZED (
    SELECT id
      FROM agent.outbox
     WHERE id = ANY(CAST(:ids AS uuid[]))
       AND published_at IS NULL
       AND parked_at IS NULL
     ORDER BY id
       FOR NO KEY UPDATE
)
UPDATE agent.outbox AS o
   SET published_at = clock_timestamp(),
       relay_owner  = NULL,
       relay_until  = NULL
  FROM told
 WHERE o.id = told.id;

-- park_outbox --
-- Why: the broker won't ever take these; each is set aside with its reason and shown as parked, never as sent.
-- Locks: the rows, in id order.  Clock: database.
-- Result: none; the row count.
WITH refused AS MATERIALIZED (
    SELECT o.id, r.reason
      FROM agent.outbox o
      JOIN unnest(CAST(:ids AS uuid[]), CAST(:reasons AS text[])) AS r (id, reason) ON r.id = o.id
     WHERE o.published_at IS NULL
       AND o.parked_at IS NULL
     ORDER BY o.id
       FOR NO KEY UPDATE OF o
)
UPDATE agent.outbox AS o
   SET parked_at   = clock_timestamp(),
       park_reason = refused.reason,
       relay_owner = NULL,
       relay_until = NULL
  FROM refused
 WHERE o.id = refused.id;

-- defer_outbox --
-- Why: nothing is known of these, or an operator must mend something first: try again, at growing distances.
-- Locks: the rows, in id order; only while they are still this relay's.  Clock: database.
-- Result: none; the row count.
WITH mine AS MATERIALIZED (
    SELECT id
      FROM agent.outbox
     WHERE id = ANY(CAST(:ids AS uuid[]))
       AND relay_owner = :owner
       AND published_at IS NULL
       AND parked_at IS NULL
     ORDER BY id
       FOR NO KEY UPDATE
)
UPDATE agent.outbox AS o
   SET relay_owner = NULL,
       relay_until = clock_timestamp()
                   + least(CAST(:longest AS interval), CAST(:first AS interval) * power(2, least(o.attempts, 16) - 1))
  FROM mine
 WHERE o.id = mine.id;
