-- lock_effect --
-- Why: has an attempt of this action been opened, and what became of it?
-- Locks: the effect's row, FOR NO KEY UPDATE, after its run's, action's and budget's.  Clock: database.
-- Result: the effect with its newest attempt and `now`, or no row.
WITH held AS MATERIALIZED (
    SELECT * FROM agent.effects WHERE run_id = :run_id AND index = :index FOR NO KEY UPDATE
)
SELECT held.effect_key, held.n, held.tool, held.class, held.state, held.result, held.result_invalid, held.error,
       held.attempts, a.attempt_ends_at, clock_timestamp() AS now
  FROM held
  LEFT JOIN agent.effect_attempts a ON a.effect_key = held.effect_key AND a.attempt = held.attempts;

-- look_at_effect --
-- Why: what the ledger says, for who only asks.
-- Locks: none.  Clock: database.
-- Result: as lock_effect.
SELECT e.effect_key, e.n, e.tool, e.class, e.state, e.result, e.result_invalid, e.error, e.attempts,
       a.attempt_ends_at, clock_timestamp() AS now
  FROM agent.effects e
  LEFT JOIN agent.effect_attempts a ON a.effect_key = e.effect_key AND a.attempt = e.attempts
 WHERE e.run_id = :run_id
   AND e.index = :index;

-- open_attempt --
-- Why: from here on the effect may have happened. Effect and attempt 1 are written `started` with the exact request.
-- Locks: the effect's and the attempt's index entries (the run's row is held, under its start fence).
-- Clock: database.
-- Result: the instant at which the attempt ends.
WITH effect AS (
    INSERT INTO agent.effects (effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state,
                               arguments_hash, request, attempts, compensates)
    VALUES (:effect_key, :run_id, :root_run_id, :tenant_id, :index, :n, :tool, :class, 'started', :arguments_hash,
            :request, 1, :compensates)
)
INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state, request, attempt_ends_at)
VALUES (:effect_key, 1, :run_id, :tenant_id, :boot, 'started', :request,
        clock_timestamp() + make_interval(secs => CAST(:timeout_seconds AS double precision)))
RETURNING attempt_ends_at;

-- open_lost_attempt --
-- Why: after a restore an earlier attempt of this may have been made that no row tells of: the first one on record is
--      `unknown`, from the last instant that isn't lost on, and what its class allows comes before anything is sent.
-- Locks: as open_attempt.  Clock: database.
-- Result: the instant at which such an attempt had ended at the latest.
WITH effect AS (
    INSERT INTO agent.effects (effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state,
                               arguments_hash, request, attempts, compensates)
    VALUES (:effect_key, :run_id, :root_run_id, :tenant_id, :index, :n, :tool, :class, 'unknown', :arguments_hash,
            :request, 1, :compensates)
)
INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state, request, started_at,
                                   attempt_ends_at, settled_at, settled_by)
VALUES (:effect_key, 1, :run_id, :tenant_id, 'lost', 'unknown', :request, CAST(:lost_after AS timestamptz),
        CAST(:recovered_at AS timestamptz) + make_interval(secs => CAST(:timeout_seconds AS double precision)),
        clock_timestamp(), 'recover')
RETURNING attempt_ends_at;

-- settle_attempt --
-- Why: an outcome is a compare-and-set on its attempt, and asks for no lease, status or deadline of the run (02 §2).
-- Locks: the effect's row, then the attempt's.  Clock: database.
-- Result: the effect's key when this settled it; no row when it was settled before.
WITH effect AS MATERIALIZED (
    SELECT effect_key FROM agent.effects WHERE effect_key = :effect_key FOR NO KEY UPDATE
), attempt AS (
    UPDATE agent.effect_attempts a
       SET state = :attempt_state,
           outcome = CAST(:outcome AS jsonb),
           settled_at = clock_timestamp(),
           settled_by = :boot
      FROM effect
     WHERE a.effect_key = effect.effect_key
       AND a.attempt = :attempt
       AND a.executor_boot = :boot
       AND a.state IN ('started', 'unknown')
    RETURNING a.effect_key
)
UPDATE agent.effects e
   SET state = :state,
       result = CAST(:result AS jsonb),
       result_invalid = :result_invalid,
       error = CAST(:error AS jsonb),
       updated_at = clock_timestamp()
  FROM attempt
 WHERE e.effect_key = attempt.effect_key
RETURNING e.effect_key;
