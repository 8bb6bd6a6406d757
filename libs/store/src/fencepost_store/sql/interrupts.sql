-- insert_interrupt --
-- Why: a question is asked once under (run, kind, index, n); its id is that first insert's (I17).
-- Locks: the key's index entry (the run's row is held).  Clock: none, the expiry is passed in.
-- Result: the id, or no row when it was asked before.
INSERT INTO agent.interrupts (id, run_id, tenant_id, user_id, kind, index, n, indexes, question, candidates,
                              input_schema, preview, change, risk, expires_at)
VALUES (:id, :run_id, :tenant_id, :user_id, :kind, :index, :n, :indexes, :question, CAST(:candidates AS jsonb),
        CAST(:input_schema AS jsonb), CAST(:preview AS jsonb), CAST(:change AS jsonb), :risk, :expires_at)
ON CONFLICT ON CONSTRAINT interrupts_asked_once DO NOTHING
RETURNING id;

-- interrupt_asked --
-- Why: the question a replay asks again.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: id and status.
SELECT id, status FROM agent.interrupts WHERE run_id = :run_id AND kind = :kind AND index = :index AND n = :n;

-- ask_for_actions --
-- Why: which interrupt decides an action.
-- Locks: the actions' rows.  Clock: none.
-- Result: none.
UPDATE agent.actions a
   SET interrupt_id = :interrupt_id
  FROM unnest(CAST(:indexes AS int[]), CAST(:ns AS int[])) AS w (index, n)
 WHERE a.run_id = :run_id
   AND a.index = w.index
   AND a.n = w.n;

-- run_of_interrupt --
-- Why: which run to lock before the interrupt.
-- Locks: none.  Clock: none.
-- Result: the run's id, or no row.
SELECT run_id FROM agent.interrupts WHERE id = :id;

-- lock_interrupt --
-- Why: a decision is judged on the locked row.
-- Locks: the interrupt's row, FOR NO KEY UPDATE, after its run's.  Clock: database, read above the lock.
-- Result: the row and `now`, or no row.
WITH held AS MATERIALIZED (
    SELECT id, run_id, kind, status, indexes, expires_at, resolution, resolution_hash
      FROM agent.interrupts
     WHERE id = :id
       FOR NO KEY UPDATE
)
SELECT held.*, clock_timestamp() AS now FROM held;

-- store_resolution --
-- Why: one conditional update decides; expiry is part of its condition, judged above the lock (case AP-1).
-- Locks: the interrupt's row.  Clock: database.
-- Result: id, index and n, or no row when it is not open or past its time.
WITH held AS MATERIALIZED (
    SELECT id, expires_at FROM agent.interrupts WHERE id = :id AND status = 'open' FOR NO KEY UPDATE
)
UPDATE agent.interrupts i
   SET status = 'resolved',
       resolution = CAST(:resolution AS jsonb),
       resolution_hash = :resolution_hash,
       resolution_key = :key,
       resolved_by = :by,
       resolved_at = clock_timestamp()
  FROM held
 WHERE i.id = held.id
   AND held.expires_at > clock_timestamp()
RETURNING i.id, i.index, i.n;

-- decide_action --
-- Why: the decision stands with the action it was taken on, and only while that is the current one.
-- Locks: the action's row.  Clock: database.
-- Result: n and tool, or no row when it is not the current preparation any more.
UPDATE agent.actions
   SET status = CASE CAST(:decision AS text) WHEN 'approve' THEN 'approved' ELSE 'rejected' END,
       decision = :decision,
       decided_by = :by,
       decided_at = clock_timestamp(),
       note = :note
 WHERE interrupt_id = :interrupt_id
   AND index = :index
   AND status = 'prepared'
RETURNING n, tool;

-- expire_interrupt --
-- Why: nobody answered in time; the same condition as a decision, the other way round.
-- Locks: the interrupt's row.  Clock: database.
-- Result: the id, or no row when it is not open or not past.
WITH held AS MATERIALIZED (
    SELECT id, expires_at FROM agent.interrupts WHERE id = :id AND status = 'open' FOR NO KEY UPDATE
)
UPDATE agent.interrupts i
   SET status = 'expired'
  FROM held
 WHERE i.id = held.id
   AND held.expires_at <= clock_timestamp()
RETURNING i.id;

-- expire_actions --
-- Why: an action nobody decided in time is not done.
-- Locks: the actions' rows.  Clock: none.
-- Result: none.
UPDATE agent.actions SET status = 'expired' WHERE interrupt_id = :interrupt_id AND status = 'prepared';
