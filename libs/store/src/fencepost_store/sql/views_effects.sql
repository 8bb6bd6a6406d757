-- view_effects --
-- Why: what happened to the world, for operators; unsettled ones by effects_by_state_idx.
-- Locks: none.  Clock: none.
-- Result: effects of the tenant in the order of their keys, after one of them.
SELECT effect_key, run_id, index, tool, class, state, attempts, external_id, error, resolution, resolved_by, resolved_at,
       next_look_at, compensates, compensation_run_id, created_at, updated_at
  FROM agent.effects
 WHERE (CAST(:state AS text) IS NULL OR state = :state)
   AND (CAST(:after AS text) IS NULL OR effect_key > :after)
 ORDER BY effect_key
 LIMIT :limit;

-- view_effect --
-- Why: one of them.
-- Locks: none.  Clock: none.
-- Result: the row, or no row.
SELECT effect_key, run_id, index, tool, class, state, attempts, external_id, error, resolution, resolution_hash, resolution_key,
       resolved_by, resolved_at, next_look_at, compensates, compensation_run_id, created_at, updated_at
  FROM agent.effects
 WHERE effect_key = :effect_key;

-- resolve_effect --
-- Why: a person's word on an effect goes through one function, which asks for evidence and for its state.
-- Locks: the effect's and its attempts' rows (the run's row is held).  Clock: database.
-- Result: whether it was a person's to settle.
SELECT agent.resolve_effect(:effect_key, :outcome, CAST(:said AS jsonb), :digest, :key, :by, :external_id) AS settled;

-- open_reconcile --
-- Why: the question that this effect's settlement answers.
-- Locks: none (the run's row is held).  Clock: none.
-- Result: the interrupt's id, or no row.
SELECT id FROM agent.interrupts WHERE run_id = :run_id AND kind = 'reconcile' AND index = :index AND status = 'open';
