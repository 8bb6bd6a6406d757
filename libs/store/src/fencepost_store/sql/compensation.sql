-- to_be_undone --
-- Why: what the arguments of the call that undoes an effect are made of.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: the effect with the arguments of the action that was carried out, or no row.
SELECT e.effect_key, e.run_id, e.tool, e.state, e.result, e.result_invalid, e.external_id, e.compensation_run_id, a.arguments
  FROM agent.effects e
  JOIN agent.actions a ON a.run_id = e.run_id AND a.index = e.index AND a.n = e.n
 WHERE e.effect_key = :effect_key;

-- start_compensation --
-- Why: one order at a time, and only of what is completed: the api may change no effect but through this function.
-- Locks: the effect's row (the run's row is held).  Clock: database.
-- Result: whether it was completed and is being undone now.
SELECT agent.start_compensation(:effect_key, :run_id) AS started;

-- order_of_run --
-- Why: what a compensating run was ordered to do, and whether the order stands.
-- Locks: none.  Clock: none.
-- Result: the effect it undoes with its present state, or no row.
SELECT f.effect_key, f.tool, f.state, f.compensation_run_id, f.updated_at
  FROM agent.effects f
 WHERE f.effect_key = :effect_key;

-- find_undone --
-- Why: a compensation that came to an end, by its own effect or with its run, is said of the effect it was for.
-- Locks: none.  Clock: none.
-- Result: the compensating run, and the run whose effect it is.
SELECT f.compensation_run_id AS key, f.run_id
  FROM agent.effects f
  JOIN agent.runs r ON r.id = f.compensation_run_id
 WHERE f.state = 'compensating'
   AND f.compensation_run_id > :after
   AND (r.finished_at IS NOT NULL
        OR EXISTS (SELECT FROM agent.effects c WHERE c.compensates = f.effect_key AND c.run_id = r.id AND c.state = 'completed'))
 ORDER BY f.compensation_run_id
 LIMIT :batch;

-- lock_undone --
-- Why: judged on the locked effect; the compensating run is another's, and only what can't be unsaid is read of it.
-- Locks: the effect, FOR NO KEY UPDATE, after its run.  Clock: none.
-- Result: the effect with how its compensation stands, or no row when it isn't being undone any more.
WITH held AS MATERIALIZED (
    SELECT effect_key, index, tool, attempts, compensation_run_id FROM agent.effects
     WHERE compensation_run_id = :key AND state = 'compensating'
       FOR NO KEY UPDATE
)
SELECT held.*, r.status, z.reason, c.effect_key AS undone_by, c.state AS undoing, c.error
  FROM held
  JOIN agent.runs r ON r.id = held.compensation_run_id
  LEFT JOIN agent.finalizations z ON z.run_id = r.id
  LEFT JOIN agent.effects c ON c.compensates = held.effect_key AND c.run_id = r.id;

-- end_compensation --
-- Why: undone, standing as before, or a person's: the effect says what its compensation says.
-- Locks: the effect's row, held.  Clock: database.
-- Result: none.
UPDATE agent.effects
   SET state = :state,
       error = CAST(:error AS jsonb),
       updated_at = clock_timestamp()
 WHERE effect_key = :effect_key
   AND state = 'compensating';
