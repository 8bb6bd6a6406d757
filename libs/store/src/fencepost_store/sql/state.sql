-- make_state_head --
-- Why: a conversation's first change needs a row to lock; concurrent firsts meet on its key.
-- Locks: the key's index entry.  Clock: database.
-- Result: none.
INSERT INTO agent.state_heads (conversation_id, tenant_id)
VALUES (:conversation_id, :tenant_id)
ON CONFLICT (conversation_id) DO NOTHING;

-- lock_state_head --
-- Why: every change is computed from the value that is there, so two writers are one after the other.
-- Locks: the head's row, FOR NO KEY UPDATE, after its run's, action's and attempt's.  Clock: database, above the lock.
-- Result: the present state, or no row before the first change.
WITH held AS MATERIALIZED (
    SELECT conversation_id, tenant_id, seq, at, body, snapshot_seq, snapshot_at
      FROM agent.state_heads
     WHERE conversation_id = :conversation_id
       FOR NO KEY UPDATE
)
SELECT held.*, greatest(held.at, clock_timestamp()) AS now FROM held;

-- write_state --
-- Why: changes, the state they lead to and, when it is due, a snapshot of it are one statement.
-- Locks: the head's row, held.  Clock: the instant read above its lock, never before that of the last change.
-- Result: the head's new seq, or no row when the head isn't what the changes were computed from.
WITH moved AS (
    UPDATE agent.state_heads
       SET seq = seq + cardinality(CAST(:keys AS text[])),
           at = CAST(:at AS timestamptz),
           body = CAST(:body AS jsonb),
           snapshot_seq = CASE WHEN :snapshot THEN seq + cardinality(CAST(:keys AS text[])) ELSE snapshot_seq END,
           snapshot_at = CASE WHEN :snapshot OR (seq = 0) THEN CAST(:at AS timestamptz) ELSE snapshot_at END
     WHERE conversation_id = :conversation_id
       AND seq = :seq
    RETURNING seq, tenant_id
), told AS (
    INSERT INTO agent.state_events (conversation_id, seq, tenant_id, key, old_value, new_value, operation, source,
                                    event_id, run_id, trace_id, at)
    SELECT :conversation_id, :seq + c.place, m.tenant_id, c.key, CAST(c.old AS jsonb), CAST(c.new AS jsonb), c.operation,
           :source, c.event_id, CAST(:run_id AS uuid), CAST(:trace_id AS text), CAST(:at AS timestamptz)
      FROM unnest(CAST(:keys AS text[]), CAST(:olds AS text[]), CAST(:news AS text[]), CAST(:operations AS text[]),
                  CAST(:event_ids AS uuid[])) WITH ORDINALITY AS c (key, old, new, operation, event_id, place)
      CROSS JOIN moved m
), kept AS (
    INSERT INTO agent.state_snapshots (conversation_id, seq, tenant_id, body, at)
    SELECT :conversation_id, m.seq, m.tenant_id, CAST(:body AS jsonb), CAST(:at AS timestamptz)
      FROM moved m
     WHERE :snapshot
)
SELECT seq FROM moved;

-- present_state --
-- Why: what prompts and conditions are made of; one row by its key.
-- Locks: none.  Clock: none.
-- Result: the present state, or no row before the first change.
SELECT seq, at, body FROM agent.state_heads WHERE conversation_id = :conversation_id;

-- state_around --
-- Why: an instant lies between two snapshots. Their numbers are read first, by themselves: as subqueries of the next
-- statement they would be filters behind row-level security, and every change of the conversation would be read.
-- Locks: none.  Clock: none.
-- Result: one row: the snapshot before the instant (seq 0 and an empty body where there is none), the next one's seq.
SELECT coalesce(b.seq, 0) AS snapshot_seq, coalesce(b.body, '{}') AS body, coalesce(b.erased, '{}') AS erased,
       (SELECT f.seq
          FROM agent.state_snapshots f
         WHERE f.conversation_id = :conversation_id AND f.at > CAST(:at AS timestamptz)
         ORDER BY f.at, f.seq
         LIMIT 1) AS following
  FROM (VALUES (1)) AS one (row)
  LEFT JOIN LATERAL (SELECT s.seq, s.body, s.erased
                       FROM agent.state_snapshots s
                      WHERE s.conversation_id = :conversation_id AND s.at <= CAST(:at AS timestamptz)
                      ORDER BY s.at DESC, s.seq DESC
                      LIMIT 1) AS b ON true;

-- state_since --
-- Why: the changes of one interval up to an instant, bounded by both its snapshots' numbers.
-- Locks: none.  Clock: none.
-- Result: one row: the last change's number and time (NULL for none), the last value of each key changed, keys gone,
-- and those of them whose value was erased.
WITH since AS MATERIALIZED (
    SELECT e.seq, e.key, e.new_value, e.new_erased_by, e.at
      FROM agent.state_events e
     WHERE e.conversation_id = :conversation_id
       AND e.seq > :after
       AND e.seq <= :upto
       AND e.at <= CAST(:at AS timestamptz)
), last AS (
    SELECT DISTINCT ON (key) key, new_value, new_erased_by FROM since ORDER BY key, seq DESC
)
SELECT (SELECT max(seq) FROM since) AS seq,
       (SELECT max(at) FROM since) AS at,
       coalesce((SELECT jsonb_object_agg(key, new_value) FROM last WHERE new_value IS NOT NULL), '{}') AS changed,
       coalesce((SELECT array_agg(key) FROM last WHERE new_value IS NULL), '{}') AS gone,
       coalesce((SELECT array_agg(key) FROM last WHERE new_erased_by IS NOT NULL), '{}') AS erased;

-- state_events --
-- Why: a page of a conversation's changes, in order.
-- Locks: none.  Clock: none.
-- Result: changes after `after`, of one key where it is named.
SELECT seq, key, old_value, new_value, old_value IS NOT NULL OR old_erased_by IS NOT NULL AS existed,
       new_value IS NOT NULL OR new_erased_by IS NOT NULL AS exists, coalesce(old_erased_by, new_erased_by) IS NOT NULL AS erased,
       operation, source, event_id, run_id, trace_id, at
  FROM agent.state_events
 WHERE conversation_id = :conversation_id
   AND seq > :after
   AND (CAST(:key AS text) IS NULL OR key = :key)
 ORDER BY seq
 LIMIT :limit;
